// A finding: something that the action could see or change beyond what it declared, and how to declare it.
import type { RelPath } from '../../core/path.ts';

/** The ones from `env` on are told apart by a second run only, except where an action reads them from a file. */
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
  | 'readdir-order';

/** Looks at something that is not declared, whether it was there or not. */
export const READ_KINDS: ReadonlySet<FindingKind> = new Set(['read', 'probe', 'absent', 'list']);

/** A declaration that is missing: as a flag of `assay run` and its value, or as a dependency of a step. */
export interface Fix {
  readonly flag: '--input' | '--optional-input' | '--output' | '--tool' | '--env' | 'dependsOn';
  readonly value: string;
}

export interface Finding {
  readonly kind: FindingKind;
  /** As people see it: relative to the workspace, "../x" beside it, absolute elsewhere. */
  readonly path?: string;
  readonly detail?: string;
  /** The arguments of the program that did it first. */
  readonly process?: readonly string[];
  /** Milliseconds since the start, when it was seen first. */
  readonly atMs: number;
  readonly fix?: Fix;
  /** What to do where no declaration helps. */
  readonly advice?: string;
}

/** The flag as it would stand on a command line, or the field as it would stand in assay.json. */
export function fixText(fix: Fix): string {
  if (fix.flag === 'dependsOn') return `"dependsOn": [${JSON.stringify(fix.value)}]`;
  /* What begins with a dash would be taken for a flag. */
  return `${fix.flag}${fix.value.startsWith('-') ? '=' : ' '}${shellQuote(fix.value)}`;
}

/** A pattern that matches this path and nothing else. */
export function patternOf(path: RelPath): string {
  return path.replace(/[\\*?[\]{}()]|^!/g, '\\$&');
}

/** Argv as one line that a shell would read the same way. */
export function commandText(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
