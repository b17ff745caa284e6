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

/** A word that is longer than a line gets its own line. */
function inLines(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= columns)
      lines.splice(-1, 1, `${line} ${word}`);
    else lines.push(word);
  }
  return lines;
}
