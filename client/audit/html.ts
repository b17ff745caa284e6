// Text into HTML. Names come from anywhere: nothing in them may become markup, end a line, or turn the reading direction.

/** Markup that is safe to write out. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const NOTHING = new Html('');

type Value = string | number | Html | readonly Html[];

/** Fills values into markup: text is escaped, what is markup already is not. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const whole = parts.map((part, index) => part + render(values[index] ?? ''));
  return new Html(whole.join(''));
}

function render(value: Value): string {
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

/** Control characters and those that reorder what stands around them are shown by their number. */
export function escapeHtml(text: string): string {
  const visible = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return visible.replace(/[&<>"']/g, (character) => MARKUP[character] ?? '');
}
