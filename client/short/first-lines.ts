// The first lines of a failure: what a known test runner or compiler said of it, else lines that tell of an error.
// Nothing is decided by them. A log that no row recognises gives its last lines.

export interface FirstLines {
  /** The tool whose words were recognised. */
  readonly tool?: string;
  /** How many failures it told, if it was recognised. */
  readonly failures?: number;
  readonly lines: readonly string[];
}

interface Tool {
  readonly name: string;
  /** A failure begins with such a line, a line feed, and the line after it. */
  readonly begins: RegExp;
  /** It ends before such a line. */
  readonly ends?: RegExp;
  /** The lines of it that are told, its first one among them. */
  tell(lines: readonly string[]): readonly string[];
}

const first = (lines: readonly string[], pattern: RegExp) =>
  lines.filter((line) => pattern.test(line)).slice(0, 1);

/** The location in a line of a stack, such as "src/a.test.ts:5:17". */
function place(lines: readonly string[], pattern: RegExp): string[] {
  const [, found] = lines.map((line) => pattern.exec(line)).find((match) => match !== null) ?? [];
  return found === undefined ? [] : [`at ${found}`];
}

/** The paragraph after the first line. */
function paragraph(lines: readonly string[]): readonly string[] {
  const begin = lines.findIndex((line, at) => at > 0 && line.trim() !== '');
  const end = lines.findIndex((line, at) => at > begin && line.trim() === '');
  return begin === -1 ? [] : lines.slice(begin, end === -1 ? undefined : end);
}

const TOOLS: readonly Tool[] = [
  {
    name: 'vitest',
    begins: /^ ?FAIL {2}\S/,
    ends: /^⎯{4}/,
    tell: (lines) => [
      ...lines.slice(0, 1),
      ...paragraph(lines).slice(0, 3),
      ...place(lines, /^ ?❯ (?:.* )?(\S+:\d+:\d+)$/),
    ],
  },
  {
    name: 'jest',
    begins: /^ {2}● (?!Console)/,
    ends: /^(?:Test Suites|Tests): /,
    tell: (lines) => [
      ...lines.slice(0, 1),
      ...lines
        .slice(1)
        .filter((line) => line.trim() !== '' && !/^\s*(?:>?\s*\d+ )?\||^\s+at /.test(line))
        .slice(0, 3),
      ...place(lines, /^\s+at .*?\(?([^\s()]+:\d+:\d+)\)?$/),
    ],
  },
  {
    name: 'pytest',
    begins: /^_{3,} .+ _{3,}\n/,
    ends: /^={3,} |^\d+ failed/,
    tell: (lines) => [
      ...lines.slice(0, 1).map((line) => line.replaceAll(/^_+ | _+$/g, '')),
      ...lines.filter((line) => /^E {2,}/.test(line)).slice(0, 3),
      ...first(lines, /^\S+:\d+: /),
    ],
  },
  {
    name: 'go test',
    begins: /^ *--- FAIL: |^panic: |^\S+\.go:\d+:(?:\d+:)? /,
    ends: /^(?:FAIL|ok|exit status|goroutine )/,
    tell: (lines) => lines.filter((line) => line.trim() !== '').slice(0, 3),
  },
  {
    name: 'cargo',
    begins: /^error(?:\[E\d+\])?: .*\n *--> |^thread '.*' .*panicked at /,
    ends: /^(?:stack backtrace:|note: |failures:|For more information|error: (?:could not|test failed|aborting))/,
    tell: (lines) => [
      ...(lines[0]?.startsWith('thread ')
        ? lines.filter((line) => line.trim() !== '').slice(0, 4)
        : lines.slice(0, 1)),
      ...place(lines, /^ *--> (\S+)$/),
    ],
  },
  {
    name: 'tsc',
    begins: /^(?:[^\n]*(?:\(\d+,\d+\): |:\d+:\d+ - ))?error TS\d+: /,
    tell: (lines) => lines.slice(0, 1),
  },
  { name: 'eslint', begins: /^\S+:\d+:\d+ +error +\S/, tell: (lines) => lines.slice(0, 1) },
  {
    name: 'gcc',
    begins:
      /^\S+?:\d+(?::\d+)?: (?:fatal )?error: |^[^\n]*(?:undefined reference to|: multiple definition of)/,
    tell: (lines) => lines.slice(0, 1),
  },
];

/** A failure takes at most so many lines of the log, and only the start of a line is read. */
const LONGEST = 60;
const LONGEST_LINE = 1000;

/** `log`: without escape sequences. `workspace`: its path is left out of the lines. */
export function firstLines(log: string, workspace: string): FirstLines {
  const lines = withFiles(log.replaceAll(`${workspace}/`, '').split(/\r?\n/).map(plainLine));
  const heads = lines.map((line, at) => `${line}\n${lines[at + 1] ?? ''}`);
  const at = heads.findIndex((head) => toolOf(head) !== undefined);
  const tool = toolOf(heads[at] ?? '');
  if (!tool) return { lines: likelyLines(lines) };
  const begins = heads.flatMap((head, index) => (tool.begins.test(head) ? [index] : []));
  const told = begins.map((begin, index) => tool.tell(failureAt(lines, begin, begins[index + 1], tool)));
  return { tool: tool.name, failures: told.length, lines: [...new Set(told.flat())] };
}

/** A bell or a carriage return of a progress bar must not hide the words around it. */
function plainLine(line: string): string {
  return line.slice(0, LONGEST_LINE).replaceAll(/(?!\t)\p{Cc}/gu, '');
}

function toolOf(head: string): Tool | undefined {
  return TOOLS.find(({ begins }) => begins.test(head));
}

function failureAt(
  lines: readonly string[],
  begin: number,
  next: number | undefined,
  { ends }: Tool,
): string[] {
  const most = lines.slice(begin, Math.min(next ?? lines.length, begin + LONGEST));
  const end = most.findIndex((line, at) => at > 0 && ends?.test(line));
  return most.slice(0, end === -1 ? undefined : end);
}

/** eslint names a file once, above its findings: each finding gets it. */
function withFiles(lines: readonly string[]): string[] {
  let file = '';
  return lines.map((line) => {
    if (/^\S+\.\w+$/.test(line)) file = line;
    const [, position, rest] = /^ +(\d+:\d+) +(error +.*)$/.exec(line) ?? [];
    return position === undefined || file === '' ? line : `${file}:${position}  ${rest}`;
  });
}

const TELLS_OF_ERROR =
  /\b(?:error|exception|fatal|panic|failed|failure|cannot|not found|no such|denied|assert)/i;

/** Of a log that nothing recognises: the first lines that tell of an error, and the last ones. */
function likelyLines(all: readonly string[]): string[] {
  const lines = all.filter((line) => line.trim() !== '');
  const likely = lines.filter((line) => TELLS_OF_ERROR.test(line)).slice(0, 3);
  return [...new Set([...likely, ...lines.slice(-3)])];
}
