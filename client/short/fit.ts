// Short answers: one JSON object of at most SHORT.bytes, whatever it tells of.
// Guarantee: no text in it has a control character, and a longer list says how many of its items are left out.
import { stripVTControlCharacters } from 'node:util';
import { SHORT } from '../limits.ts';
import { inOneLine } from '../terminal/sync-stream.ts';

/** How much one item may take: `items` of each list, and `bytes` of each text. */
export interface Room {
  readonly items: number;
  readonly bytes: number;
}

/** The largest answer that fits, as a line. `make` gets less room each time. */
export function fitted(make: (room: Room) => object): string {
  for (const items of SHORT.items) {
    const line = lineOf(make({ items, bytes: SHORT.leastText + items * SHORT.textPerItem }));
    if (Buffer.byteLength(line) <= SHORT.bytes) return line;
  }
  return lineOf(make({ items: 0, bytes: SHORT.leastText }));
}

function lineOf(answer: object): string {
  return `${JSON.stringify(answer)}\n`;
}

/** Text of a command or a file as data: without escape sequences, in one line, and cut. */
export function cleaned(text: string, { bytes }: Pick<Room, 'bytes'>): string {
  const line = inOneLine(stripVTControlCharacters(text.slice(0, SHORT.readOfText))).trim();
  return Buffer.byteLength(JSON.stringify(line)) <= bytes ? line : cut(line, bytes);
}

/** By whole code points, with the size that they have in JSON. */
function cut(line: string, bytes: number): string {
  const most = bytes - Buffer.byteLength('"…"');
  let size = 0;
  let kept = '';
  for (const character of line) {
    size += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (size > most) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A list under a name, and how many more there are: `{ failures: […], moreFailures: 7 }`. Nothing if it is empty. */
export function listed<Item, Shown>(
  name: string,
  all: readonly Item[],
  most: number,
  show: (item: Item) => Shown,
): Record<string, readonly Shown[] | number> {
  if (all.length === 0) return {};
  const shown = all.slice(0, most).map(show);
  const more = all.length - shown.length;
  const capital = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
  return { ...(shown.length > 0 && { [name]: shown }), ...(more > 0 && { [`more${capital}`]: more }) };
}
