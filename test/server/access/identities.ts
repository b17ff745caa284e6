// Identities for tests: a main branch, two pull requests, another tenant, and tokens with fewer rights.
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Identity, IdentitySource } from '../../../server/access/identity.ts';
import { parseRights, type Right } from '../../../server/access/rights.ts';

export interface Named {
  readonly namespace: string;
  readonly reads?: readonly string[];
  readonly rights?: string;
  readonly expiresAt?: number;
}

export function identity(name: string, { namespace, reads = [], rights = 'read-write', expiresAt }: Named) {
  const parsed: ReadonlySet<Right> | undefined = parseRights(rights);
  if (!parsed) throw new Error(`${rights} are no rights`);
  const made: Identity = {
    name,
    namespace: parseNamespace(namespace),
    reads: reads.map((path): Namespace => parseNamespace(path)),
    rights: parsed,
    expiresAt,
  };
  return made;
}

/** The name of each is its token. */
export const MAIN = identity('main', { namespace: 'acme/app/main' });
export const PULL = identity('pull', { namespace: 'acme/app/pr/1', reads: ['acme/app/main'] });
export const SIBLING = identity('sibling', { namespace: 'acme/app/pr/2', reads: ['acme/app/main'] });
export const READER = identity('reader', { namespace: 'acme/app/main', rights: 'read' });
export const WRITER = identity('writer', { namespace: 'acme/app/main', rights: 'write' });
export const OTHER = identity('other', { namespace: 'rival/app/main' });

export function sourceOf(...identities: readonly Identity[]): IdentitySource {
  const byName = new Map(identities.map((one) => [one.name, one]));
  return {
    identify: (token) => byName.get(token),
    identifyAccessKey: (accessKey) => {
      const found = byName.get(accessKey);
      return found && { identity: found, secretKey: `secret-of-${accessKey}` };
    },
  };
}

export const EVERYBODY = sourceOf(MAIN, PULL, SIBLING, READER, WRITER, OTHER);
