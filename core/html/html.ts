// Escapes text for HTML. No name from outside can become markup, end a line, or change the reading direction.
import { visible } from '../text/visible.ts';

/** Markup that is safe to write. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const NOTHING = new Html('');

export type Value = string | number | Html | readonly Html[] | undefined;

/** Fills values into markup. Text is escaped, Html is not. Undefined gives nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const whole = parts.map((part, index) => part + render(values[index]));
  return new Html(whole.join(''));
}

function render(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escapeHtml(String(value));
}

const MARKUP: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Shows control and bidirectional characters by their code point. */
export function escapeHtml(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => MARKUP[character] ?? '');
}

/** Text of several lines, for an element that keeps them: a line feed and a tab stay as they are. */
export function multiline(text: string): Html {
  const kept = text.split(/([\n\t])/).map((part, index) => (index % 2 === 1 ? part : escapeHtml(part)));
  return new Html(kept.join(''));
}
