// Draws the screen of a terminal, text with SGR escape sequences, as an SVG. Every run of characters gets its
// exact width, so that columns line up whatever monospace font the reader has.

const COLUMN = 7.8;
const LINE = 18;
const MARGIN = 16;
const TEXT = '#d6deeb';
/** The eight colours of a terminal, and their bright forms. */
const COLOURS = ['#575e6b', '#ef6b73', '#7fdb8a', '#e5c07b', '#6cb6ff', '#c792ea', '#7fdbca', TEXT];
const BRIGHT = ['#8b949e', '#ff8b92', '#a5e8ad', '#ffd68a', '#9ccaff', '#dcb6f5', '#a8ebe0', '#ffffff'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with a control character
const SGR = /\x1b\[([\d;]*)m/;

interface Style {
  readonly colour: string;
  readonly bold: boolean;
  readonly dim: boolean;
}

const PLAIN: Style = { colour: TEXT, bold: false, dim: false };

export function terminalSvg(screen: string, columns: number): string {
  const lines = screen.split('\n');
  const width = Math.ceil(columns * COLUMN + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  let style = PLAIN;
  const rows = lines.flatMap((line, row) => {
    const [runs, after] = runsOf(line, style);
    style = after;
    return runs.map((run) => text(run, MARGIN + (row + 0.75) * LINE));
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    '<title>A recorded terminal session with assay</title>',
    `<rect width="${width}" height="${height}" rx="8" fill="#161b22"/>`,
    '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13">',
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: Style;
}

function runsOf(line: string, before: Style): [Run[], Style] {
  const runs: Run[] = [];
  let style = before;
  let column = 0;
  for (const [index, part] of line.split(SGR).entries()) {
    if (index % 2 === 1) style = styled(style, part);
    else {
      const indent = part.length - part.trimStart().length;
      if (part.trim() !== '') runs.push({ column: column + indent, text: part.trim(), style });
      column += part.length;
    }
  }
  return [runs, style];
}

function styled(style: Style, codes: string): Style {
  return codes.split(';').map(Number).reduce(applied, style);
}

function applied(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, colour: TEXT };
  if (code >= 30 && code <= 37) return { ...style, colour: COLOURS[code - 30] ?? TEXT };
  if (code >= 90 && code <= 97) return { ...style, colour: BRIGHT[code - 90] ?? TEXT };
  return style;
}

function text({ column, text: written, style }: Run, y: number): string {
  const attributes = [
    `x="${(MARGIN + column * COLUMN).toFixed(1)}"`,
    `y="${y.toFixed(1)}"`,
    `textLength="${(written.length * COLUMN).toFixed(1)}"`,
    `fill="${style.colour}"`,
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['opacity="0.65"'] : []),
  ];
  return `<text ${attributes.join(' ')}>${escaped(written)}</text>`;
}

/** Spaces become no-break spaces, because SVG joins several ordinary ones into one. */
function escaped(written: string): string {
  return written
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(' ', '\u00a0');
}
