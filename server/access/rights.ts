// The rights of an identity. What is not named is denied.
import type { AssayError } from '../../core/errors.ts';

export const RIGHTS = [
  'results:read',
  'results:write',
  'blobs:read',
  'blobs:write',
  'labels:write',
  'runs:write',
  'leases',
  'stats',
  'overview',
  'admin',
  'server:stats',
] as const;

export type Right = (typeof RIGHTS)[number];

/** Short names for what most tokens need. */
export const RIGHTS_BY_NAME = {
  read: ['results:read', 'blobs:read', 'stats'],
  write: ['results:write', 'blobs:write', 'labels:write', 'runs:write', 'leases'],
  'read-write': [
    'results:read',
    'blobs:read',
    'stats',
    'results:write',
    'blobs:write',
    'labels:write',
    'runs:write',
    'leases',
  ],
} as const satisfies Readonly<Record<string, readonly Right[]>>;

export const ALL_RIGHTS: ReadonlySet<Right> = new Set(RIGHTS);

/** Rights and short names with commas between them. Undefined if one of them does not exist. */
export function parseRights(text: string): ReadonlySet<Right> | undefined {
  const rights = new Set<Right>();
  for (const name of text.split(',').map((part) => part.trim())) {
    const named = RIGHTS.filter((right) => right === name || namesRight(name, right));
    if (named.length === 0) return undefined;
    for (const right of named) rights.add(right);
  }
  return rights;
}

function namesRight(name: string, right: Right): boolean {
  const rights: readonly Right[] =
    name === 'read' || name === 'write' || name === 'read-write' ? RIGHTS_BY_NAME[name] : [];
  return rights.includes(right);
}

/** What a request needs: all of these rights, or any of them. */
export interface Requirement {
  readonly rights: readonly Right[];
  readonly isAny: boolean;
}

export function all(...rights: readonly Right[]): Requirement {
  return { rights, isAny: false };
}

export function any(...rights: readonly Right[]): Requirement {
  return { rights, isAny: true };
}

/** Reads runs, their misses and their findings: of the own namespaces, or of all below the own one. */
export const READ_RUNS: Requirement = any('results:read', 'overview');

/** A valid credential, whatever its rights are. */
export const NOTHING_MORE: Requirement = all();

export function isMet({ rights, isAny }: Requirement, has: ReadonlySet<Right>): boolean {
  const isGiven = (right: Right) =>
    has.has(right) || (right === 'stats' && SHOW_FIGURES.some((one) => has.has(one)));
  return isAny ? rights.some(isGiven) : rights.every(isGiven);
}

/** Each shows at least the figures of the own namespace. */
const SHOW_FIGURES: readonly Right[] = ['overview', 'admin', 'server:stats'];

/** The credential is valid, and not enough. */
export function isDenial({ code }: AssayError): boolean {
  return code === 'ASSAY_FORBIDDEN' || code === 'ASSAY_READ_ONLY';
}

/** True if it can't be met without a right to write: a read-only server refuses it. */
export function isWrite({ rights, isAny }: Requirement): boolean {
  const isToWrite = (right: Right) => right.endsWith(':write') || right === 'leases';
  return isAny ? rights.every(isToWrite) : rights.some(isToWrite);
}
