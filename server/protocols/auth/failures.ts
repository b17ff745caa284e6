// Counts refused exchanges by the address of the client, and tells a client that fails too often to wait.
//
// Guarantees: memory is bounded, and an address is free again after a minute. A valid token is never refused for
// the failures of others: behind a proxy all clients have one address.

import { isIPv6 } from 'node:net';
import { AssayError } from '../../../core/errors.ts';
import { BoundedMap } from '../../../store/shared/bounded-map.ts';
import { ACCESS } from '../../limits.ts';

interface Count {
  readonly since: number;
  failures: number;
}

export class FailedExchanges {
  /** The oldest first. */
  readonly #counts = new BoundedMap<string, Count>(ACCESS.maxFailingClients);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Throws if this client has failed too often: it is told to wait instead of why it failed. */
  add(address: string): void {
    const network = networkOf(address);
    const count = this.#current(network);
    if (count && count.failures >= ACCESS.maxFailedExchanges)
      throw new AssayError('ASSAY_TOO_MANY_FAILURES', `${count.failures} exchanges from there were refused`);
    if (count) {
      count.failures++;
      return;
    }
    this.#counts.set(network, { since: this.#now(), failures: 1 });
  }

  #current(network: string): Count | undefined {
    const count = this.#counts.get(network);
    return count && this.#now() - count.since < ACCESS.failedExchangesMs ? count : undefined;
  }
}

/** One client usually has a whole /64 of IPv6: its first four groups. "::" stands for groups of zeros. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/, '');
  if (!isIPv6(plain)) return plain;
  const [before = '', after] = plain.split('::');
  const [head, tail] = [before, after ?? ''].map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - (head?.length ?? 0) - (tail?.length ?? 0) }, () => '0');
  return [...(head ?? []), ...zeros, ...(tail ?? [])].slice(0, 4).join(':');
}
