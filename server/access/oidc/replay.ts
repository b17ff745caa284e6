// The tokens that were exchanged already, by issuer and `jti`, until they end.
// Guarantees: a token is taken once. The memory is bounded: beyond the limit, tokens are refused, not forgotten.
import { hash } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import { ACCESS } from '../../limits.ts';
import { refused } from './refusal.ts';

export class UsedTokens {
  /** The hash of each, and when it may be forgotten. */
  readonly #until = new Map<string, number>();
  readonly #limit: number;

  constructor(limit: number = ACCESS.maxUsedTokens) {
    this.#limit = limit;
  }

  /** Throws if the token was used before. `exp` is in seconds. Call it without waiting between check and use. */
  use(issuer: string, jti: string, exp: number, now: number): void {
    const key = hash('sha256', JSON.stringify([issuer, jti]), 'base64');
    if ((this.#until.get(key) ?? 0) > now) throw refused('it was exchanged before, and each is taken once');
    if (this.#until.size >= this.#limit) this.#forgetEnded(now);
    if (this.#until.size >= this.#limit)
      throw new AssayError('ASSAY_OVERLOADED', 'too many tokens were exchanged that are still valid');
    this.#until.set(key, exp * 1000 + ACCESS.clockSkewMs);
  }

  #forgetEnded(now: number): void {
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key);
  }
}
