// The address of a Turborepo artifact: a hash within a namespace. The client's team, by slug or by id, is
// part of the namespace.
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import { artifactAddress } from '../shared/artifact.ts';

/** Turborepo prints the message of `error`. Without it, it prints that it can't parse the response. */
export const TURBO_ERRORS: ErrorFormat = {
  type: 'application/json',
  methods: 'GET, HEAD, OPTIONS, POST, PUT',
  body: ({ code, entry: { hint } }, message) =>
    JSON.stringify({ code, message, wayOut: hint, error: { code, message } }),
};

export interface Team {
  readonly slug?: string | null;
  readonly teamId?: string | null;
}

export function artifactIn(prefix: string | undefined, { slug, teamId }: Team, hash: string): ResultAddress {
  const parts = [prefix, slug || teamId];
  return artifactAddress('turbo', parseRequestedNamespace(parts.filter(Boolean).join('/')), hash);
}
