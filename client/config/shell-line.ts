// Finds the programs of a shell line: the first word of each command in it.
// A program from a variable or a script is not found here; `assay audit` finds it with a tracer.

const BUILT_IN: ReadonlySet<string> = new Set(
  ': . [ alias bg break builtin case cd command continue declare do done echo elif else esac eval exec exit export false fg fi for function getopts hash if in jobs kill let local printf pwd read readonly return select set shift source test then times trap true type ulimit umask unalias unset until wait while'.split(
    ' ',
  ),
);

/** Words that are followed by another command. */
const PREFIXES: ReadonlySet<string> = new Set([
  '!',
  'command',
  'do',
  'elif',
  'else',
  'exec',
  'if',
  'then',
  'time',
  'until',
  'while',
  '{',
]);

const WORD = /'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;&|()<>]+|&&|\|\||[;&|()\n]|[<>]+&?|[ \t]+/g;

export function programsOf(line: string): string[] {
  const programs = new Set<string>();
  let wantsProgram = true;
  for (const word of words(line)) {
    if (/^(&&|\|\||[;&|(\n])$/.test(word)) wantsProgram = true;
    else if (wantsProgram && !PREFIXES.has(word) && !/^\w+=/.test(word)) {
      wantsProgram = false;
      if (/^[\w./@+-]+$/.test(word) && !BUILT_IN.has(word)) programs.add(word);
    }
  }
  return [...programs];
}

/** Adjacent pieces form one word. A quoted piece keeps its quotes unless it is the whole word. */
function words(line: string): string[] {
  const found: string[] = [];
  let word = '';
  for (const [piece] of line.matchAll(WORD)) {
    if (!/^([ \t]+|&&|\|\||[;&|()\n]|[<>]+&?)$/.test(piece)) {
      word += piece;
      continue;
    }
    if (word !== '') found.push(bare(word));
    word = '';
    if (piece.trim() !== '' || piece.includes('\n')) found.push(piece.trim() || '\n');
  }
  if (word !== '') found.push(bare(word));
  return found;
}

function bare(word: string): string {
  return word.replace(/^(['"])([^'"$`\\]*)\1$/, '$2');
}
