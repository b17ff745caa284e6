// The tokens that were exchanged already, by their digest, until they end.
// Guarantees: a token is taken once. What the store keeps holds for every server on it and after a restart. The
// memory is bounded: beyond the limit, tokens are refused, not forgotten.
import { hash } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';
import { OIDC } from '../limits.ts';

export interface UsedTokens {
  /** False if the token was added before. Of two calls at once, one is first. */
  add(digest: string, endsAt: number, now: number): Promise<boolean>;
}

/**
 * Of everything that is signed. The signature is left out: base64url has several spellings of the same bytes, and
 * with ECDSA anybody can make a second signature from the first.
 */
export function tokenDigest(token: string): string {
  return hash('sha256', token.slice(0, token.lastIndexOf('.')));
}

const KIND = 'used-token';
/** The latest time that a document can have: an issuer may say any number. */
const LAST_TIME = 2 ** 48 - 1;

/** The time of a document is the end of its token: retention removes it then. */
export function storedUsedTokens(history: History): UsedTokens {
  return {
    add: (digest, endsAt) =>
      history.add({
        kind: KIND,
        namespace: DEFAULT_NAMESPACE,
        id: digest,
        at: Math.min(Math.ceil(endsAt), LAST_TIME),
        bytes: Buffer.alloc(0),
      }),
  };
}

/** For a server that may not write to its store: it knows what others wrote, and forgets its own at its end. */
export class UsedTokensInMemory implements UsedTokens {
  /** The digest of each, and when it may be forgotten. */
  readonly #until = new Map<string, number>();
  readonly #limit: number;
  readonly #history: History | undefined;

  constructor(history?: History, limit: number = OIDC.maxUsedTokens) {
    this.#history = history;
    this.#limit = limit;
  }

  async add(digest: string, endsAt: number, now: number): Promise<boolean> {
    if (await this.#history?.get(KIND, digest, [DEFAULT_NAMESPACE])) return false;
    if ((this.#until.get(digest) ?? 0) > now) return false;
    if (this.#until.size >= this.#limit) this.#forgetEnded(now);
    if (this.#until.size >= this.#limit)
      throw new AssayError('ASSAY_OVERLOADED', 'too many tokens were exchanged that are still valid');
    this.#until.set(digest, endsAt);
    return true;
  }

  #forgetEnded(now: number): void {
    for (const [digest, until] of this.#until) if (until <= now) this.#until.delete(digest);
  }
}
