// Wraps text for the width of a terminal. With a width of Infinity, text stays as written.

/** The minimum width of the second column, also on a narrow terminal. */
const LEAST_ROOM = 24;

/** Wraps prose. Consecutive lines are joined first. Indented lines stay as they are. */
export function wrapText(text: string, columns: number): string {
  const lines = text.split('\n');
  if (lines.every((line) => line.length <= columns)) return text;
  const joined: string[] = [];
  let isFlowing = false;
  for (const line of lines) {
    const flows = /^\S/.test(line);
    joined.push(flows && isFlowing ? `${joined.pop()} ${line}` : line);
    isFlowing = flows;
  }
  return joined.flatMap((line) => (line.startsWith(' ') ? line : inLines(line, columns))).join('\n');
}

/** Wraps one line, which may begin with spaces. The next lines begin with `indent`. Colours take no width. */
export function wrapLine(line: string, columns: number, indent: string): string {
  if (widthOf(line) <= columns) return line;
  const text = line.trimStart();
  const spaces = line.length - text.length;
  const lines = inLines(text, columns - indent.length, columns - spaces);
  return ' '.repeat(spaces) + lines.join(`\n${indent}`);
}

/** Formats rows of two columns, and wraps the second. */
export function formatColumns(rows: readonly (readonly [string, string])[], columns: number): string {
  const indent = Math.max(...rows.map(([left]) => left.length)) + 4;
  const room = Math.max(LEAST_ROOM, columns - indent);
  return rows
    .map(([left, right]) => {
      const second = wrapText(right, room).replaceAll('\n', `\n${' '.repeat(indent)}`);
      return `  ${left.padEnd(indent - 4)}  ${second}`;
    })
    .join('\n');
}

/** A word that is longer than a line gets its own line. `first`: the width of the first line. */
function inLines(text: string, columns: number, first = columns): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    const room = lines.length > 1 ? columns : first;
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= room)
      lines.splice(-1, 1, `${line} ${word}`);
    else if (word !== '' || line === undefined) lines.push(word);
  }
  return lines;
}

/** A sequence that sets a colour begins with ESC. */
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

function widthOf(text: string): number {
  return text.replace(COLOURS, '').length;
}
