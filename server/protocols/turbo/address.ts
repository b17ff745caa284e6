// The address of a Turborepo artifact: a hash within a namespace. The client's team, by slug or by id, is part of
// the namespace.
import { parseNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { jsonErrors } from '../../http/error-response.ts';
import { artifactAddress } from '../shared/artifact.ts';

export const TURBO_ERRORS = jsonErrors('GET, HEAD, OPTIONS, POST, PUT');

export interface Team {
  readonly slug?: string | null;
  readonly teamId?: string | null;
}

export function artifactIn(prefix: string | undefined, { slug, teamId }: Team, hash: string): ResultAddress {
  const parts = [prefix, slug || teamId];
  return artifactAddress('turbo', parseNamespace(parts.filter(Boolean).join('/')), hash);
}
