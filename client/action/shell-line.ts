// Splits a shell line into its commands. The first word of each is a program.
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
  const programs = commandsOf(line).map(([program]) => program);
  return [...new Set(programs.filter((word) => /^[\w./@+-]+$/.test(word) && !BUILT_IN.has(word)))];
}

/** The words of each command in a shell line, without the keywords and assignments before its program. */
export function commandsOf(line: string): [string, ...string[]][] {
  const commands: [string, ...string[]][] = [];
  let current: string[] | undefined;
  for (const word of words(line)) {
    if (/^(&&|\|\||[;&|(\n])$/.test(word)) current = undefined;
    else if (current) current.push(word);
    else if (!PREFIXES.has(word) && !/^\w+=/.test(word)) {
      const started: [string, ...string[]] = [word];
      commands.push(started);
      current = started;
    }
  }
  return commands;
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
