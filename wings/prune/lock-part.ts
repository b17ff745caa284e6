// What every kind of lock file can tell: which packages of the workspace some of them need, and its part for these.
import { AssayError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';

export interface LockPart {
  readonly text: string;
  /** Folders of the packages that it has, with those that were asked for. Without the root. */
  readonly folders: ReadonlySet<RelPath>;
  /** Files of the workspace that an install reads, such as patches. */
  readonly files: readonly RelPath[];
  /** How many packages from a registry it has, of how many. */
  readonly kept: number;
  readonly all: number;
}

export interface LockQuestion {
  readonly text: string;
  /** Of the packages of the workspace that are wanted. */
  readonly wanted: ReadonlySet<RelPath>;
  /** Of all packages of the workspace. */
  readonly packages: ReadonlySet<RelPath>;
}

export function badLock(name: string, why: string): AssayError {
  return new AssayError('ASSAY_CONFIG', `${name}: ${why}`);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The entries of a field that is an object. A Map, because names come from outside: "__proto__" is one of them. */
export function entriesOf(value: unknown): Map<string, unknown> {
  return new Map(isRecord(value) ? Object.entries(value) : []);
}
