// Two results of one key, side by side from the first differing byte on.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { count } from '../../../core/text/amounts.ts';
import type { DivergenceRow } from '../api/schemas/parts.ts';
import { ago, short } from './format.ts';
import { badge, link, sentence, table } from './parts.ts';
import { protocolWord } from './words.ts';

export function divergenceCard(
  { key, namespace, first, second, text, path, byte, bytes, isStored, checked, whatToDo }: DivergenceRow,
  now: number,
): Html {
  const who = (writer: DivergenceRow['first']) =>
    writer ? html`${writer.name}, ${ago(writer.at, now)}, ${protocolWord(writer.protocol)}` : html`unknown`;
  const title =
    byte === undefined ? 'Two results' : `From byte ${count(byte)}${path === undefined ? '' : ` of ${path}`}`;
  const sides = bytes
    ? table(
        title,
        [
          { title: 'What' },
          { title: 'First, which stays', isLabelled: true },
          { title: 'Second', isLabelled: true },
        ],
        [
          [html`Bytes`, excerpt(bytes.first), excerpt(bytes.second)],
          [html`Written by`, who(first), who(second)],
        ],
      )
    : html`<p class="note">First by ${who(first)}; second by ${who(second)}.</p>`;
  return html`<h3>${checked === 'different' ? html`${badge('bad', 'stale hit')} ` : NOTHING}${text}</h3>
<p class="note">Key ${isStored ? link(`/action/${key}`, short(key)) : short(key)}${namespace === '' ? NOTHING : html` in <code>${namespace}</code>`}${bytes ? html`. ${title}:` : NOTHING}</p>
<div>${sides}<p class="why">${sentence(whatToDo)}</p></div>`;
}

/** Hex in pairs, and the same as text where it is text. */
function excerpt(hex: string): Html {
  if (hex === '') return html`<span class="faint">it ends here</span>`;
  const text = Buffer.from(hex, 'hex')
    .toString('latin1')
    .replace(/[^ -~]/g, '·');
  return html`<code>${hex.match(/../g)?.join(' ')}</code> <code class="note">${text}</code>`;
}
