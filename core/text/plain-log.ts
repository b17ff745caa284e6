// A log as plain text: without colours and other sequences for a terminal.
// Each line shows what a terminal would show last: a progress bar that was drawn anew counts once.

const ESC = '\u001b';
const BEL = '\u0007';

/** ECMA-48: control sequences, strings such as a window's title, and sequences of two characters. */
const SEQUENCES = new RegExp(
  [
    `${ESC}\\[[0-?]*[ -/]*[@-~]`,
    `${ESC}[\\]PX^_][^${BEL}${ESC}]{0,4096}(?:${BEL}|${ESC}\\\\)`,
    `${ESC}[ -/]{0,4}[0-Z\\\\^-~]`,
  ].join('|'),
  'g',
);

export function plainLog(text: string): string {
  return text.replaceAll(SEQUENCES, '').split('\n').map(lastDrawn).join('\n');
}

function lastDrawn(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end--;
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
}
