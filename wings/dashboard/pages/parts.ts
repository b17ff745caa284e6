// The parts that several pages share: tables, figures, badges, code to copy, and what an empty page says.
import { Html, html, multiline, NOTHING, type Value } from '../../../core/html/html.ts';

interface Column {
  readonly title: string;
  /** Aligned to the right. */
  readonly isNumber?: boolean;
  /** Left out on a narrow screen. */
  readonly isWide?: boolean;
  /** On a narrow screen, where a row is a block, the title stands before the cell. So it does before a number. */
  readonly isLabelled?: boolean;
}

/**
 * The caption names the table for a screen reader. A wide table scrolls inside of its own frame. On a narrow screen
 * each row is a block, so that no cell gets narrower than its words.
 */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Html[])[]): Html {
  const head = columns.map((column) => html`<th scope="col"${classOf(column)}>${column.title}</th>`);
  const body = rows.map((cells) => {
    const filled = columns.map(
      (column, at) => html`<td${classOf(column)}${titleOf(column)}>${cells[at]}</td>`,
    );
    return html`<tr>${filled}</tr>`;
  });
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table class="rows"><caption class="hidden">${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

function classOf({ isNumber, isWide }: Column): Html {
  const names = [isNumber && 'number', isWide && 'wide'].filter((name) => typeof name === 'string');
  return names.length === 0 ? NOTHING : html` class="${names.join(' ')}"`;
}

function titleOf({ title, isNumber, isLabelled }: Column): Html {
  return isNumber || isLabelled ? html` data-title="${title}"` : NOTHING;
}

/** One figure with its name, and what it means beside others. */
export function tile(name: string, value: Value, note: Value = NOTHING): Html {
  return html`<div class="tile"><dt>${name}</dt><dd><strong>${value}</strong> <span class="note">${note}</span></dd></div>`;
}

export function tiles(...all: readonly Html[]): Html {
  return html`<dl class="tiles">${all}</dl>`;
}

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** What a page says while it has nothing to show: what it will show, and what to do for it. */
export function empty(title: string, whatToDo: Html): Html {
  return html`<div class="empty"><h2>${title}</h2>${whatToDo}</div>`;
}

/** Code, and a button that copies it. The button is hidden until the script can copy. */
export function copyable(text: string, what: string): Html {
  return html`<div class="copy"><pre tabindex="0" aria-label="${what}"><code>${multiline(text)}</code></pre><button type="button" hidden data-copy aria-label="Copy ${what}">Copy</button></div>`;
}

/** A sentence of the server. What stands between backticks is code. */
export function sentence(text: string): Html {
  const parts = text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

export function callout(tone: Tone, content: Html): Html {
  return html`<div class="callout ${tone}">${content}</div>`;
}

/** Parts of a whole as a bar. The text beside it says the same. */
export function bar(parts: readonly { readonly share: number; readonly tone: string }[]): Html {
  let x = 0;
  const rects = parts.map(({ share, tone }) => {
    const width = Math.max(0, Math.min(1, share)) * 100;
    const rect = html`<rect class="${tone}" x="${x.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="8"/>`;
    x += width;
    return rect;
  });
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" x="0" y="0" width="100" height="8"/>${rects}</svg>`;
}

export function section(title: string, content: Html, id?: string): Html {
  const anchor = id === undefined ? NOTHING : html` id="${id}"`;
  return html`<section${anchor}><h2>${title}</h2>${content}</section>`;
}

/** A link to another place, if the text is an address on the web. */
export function webLink(address: string, text: string): Html {
  const url = URL.parse(address);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return html`${text}`;
  return html`<a href="${url.href}" rel="noreferrer">${text}</a>`;
}

export function link(path: string, text: Value): Html {
  return html`<a href="${path}">${text}</a>`;
}

export function joined(parts: readonly Html[], separator: Html): Html {
  return new Html(parts.map(({ text }) => text).join(separator.text));
}

/** A choice of a filter form. The empty value means all. */
export function choiceOf(
  name: string,
  title: string,
  {
    all,
    chosen,
    choices,
  }: { readonly all: string; readonly chosen: string; readonly choices: readonly string[] },
): Html {
  const values = chosen === '' || choices.includes(chosen) ? choices : [chosen, ...choices];
  const options = values.map((value) =>
    value === chosen
      ? html`<option value="${value}" selected>${value}</option>`
      : html`<option value="${value}">${value}</option>`,
  );
  return html`<label>${title}<select name="${name}"><option value="">${all}</option>${options}</select></label>`;
}
