// A finding: an access beyond the declaration, and how to declare it.

/**
 * The kinds from `env` on come from a second run (`assay audit`), except where an action reads the fact from
 * a file.
 */
export type FindingKind =
  | 'read'
  | 'absent'
  | 'probe'
  | 'list'
  | 'write'
  | 'delete'
  | 'mutate'
  | 'stale-output'
  | 'symlink-escape'
  | 'net'
  | 'unix'
  | 'io_uring'
  | 'setuid'
  | 'survivor'
  | 'env'
  | 'time'
  | 'random'
  | 'pid'
  | 'host'
  | 'cpu'
  | 'uid'
  | 'umask'
  | 'cwd'
  | 'mtime'
  | 'readdir-order'
  | 'limits';

/** Kinds that report an undeclared read, probe or listing, also of something absent. */
export const READ_KINDS: ReadonlySet<FindingKind> = new Set(['read', 'probe', 'absent', 'list']);

/** A missing declaration: a flag of `assay run` with its value, or a dependency of a step. */
export interface Fix {
  readonly flag: '--input' | '--optional-input' | '--output' | '--tool' | '--env' | 'dependsOn';
  readonly value: string;
}

export interface Finding {
  readonly kind: FindingKind;
  /** As displayed: relative in the workspace, "../x" beside it, else absolute. */
  readonly path?: string;
  readonly detail?: string;
  /** The argv of the program that did it first. */
  readonly process?: readonly string[];
  /** The first occurrence, in milliseconds since the start. */
  readonly atMs: number;
  readonly fix?: Fix;
  /** What to change where no declaration helps. */
  readonly advice?: string;
}

/** The fix as a command-line flag, or as a field of assay.json. */
export function fixText(fix: Fix): string {
  if (fix.flag === 'dependsOn') return `"dependsOn": [${JSON.stringify(fix.value)}]`;
  /* A value that begins with a dash would be parsed as a flag. */
  return `${fix.flag}${fix.value.startsWith('-') ? '=' : ' '}${shellQuote(fix.value)}`;
}

/** A glob that matches this text and nothing else. */
export function patternOf(text: string): string {
  return text.replace(/[\\*?[\]{}()]|^!/g, '\\$&');
}

/** Argv as one line that a shell parses back to the same words. */
export function commandText(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
