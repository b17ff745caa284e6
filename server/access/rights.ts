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
  'admin',
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

/** A short name, or rights with commas between them. Undefined if one of them does not exist. */
export function parseRights(text: string): ReadonlySet<Right> | undefined {
  if (text === 'read' || text === 'write' || text === 'read-write') return new Set(RIGHTS_BY_NAME[text]);
  const names = text.split(',').map((name) => name.trim());
  const rights = names.flatMap((name) => RIGHTS.filter((right) => right === name));
  return rights.length === names.length ? new Set(rights) : undefined;
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

/** A valid credential, whatever its rights are. */
export const NOTHING_MORE: Requirement = all();

export function isMet({ rights, isAny }: Requirement, has: ReadonlySet<Right>): boolean {
  return isAny ? rights.some((right) => has.has(right)) : rights.every((right) => has.has(right));
}

/** The credential is valid, and not enough. */
export function isDenial({ code }: AssayError): boolean {
  return code === 'ASSAY_FORBIDDEN' || code === 'ASSAY_READ_ONLY';
}

/** True if it can't be met without a right to write: a read-only server refuses it. */
export function isWrite({ rights, isAny }: Requirement): boolean {
  const isToWrite = (right: Right) => right.endsWith(':write');
  return isAny ? rights.every(isToWrite) : rights.some(isToWrite);
}
