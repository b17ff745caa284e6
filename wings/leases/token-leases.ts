// How many leases each token holds or has held lately, as this process has granted them.
// Guarantee: its memory has a bound, and one token can't fill the store with leases.
import { LEASES } from './limits.ts';

export class TokenLeases {
  readonly #now: () => number;
  /** By token, then by lease: until when it counts. In the order of the newest grant. */
  readonly #tokens = new Map<string, Map<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  hasRoom(token: string): boolean {
    const leases = this.#tokens.get(token);
    if (!leases || leases.size < LEASES.perToken) return true;
    const now = this.#now();
    for (const [lease, until] of leases) if (until <= now) leases.delete(lease);
    return leases.size < LEASES.perToken;
  }

  /** Granted, or kept by a heartbeat. */
  count(token: string, lease: string): void {
    const leases = this.#tokens.get(token) ?? new Map<string, number>();
    leases.set(lease, this.#now() + LEASES.recentMs);
    this.#tokens.delete(token);
    this.#tokens.set(token, leases);
    for (const oldest of this.#tokens.size > LEASES.maxTokens ? this.#tokens.keys().take(1) : [])
      this.#tokens.delete(oldest);
  }
}
