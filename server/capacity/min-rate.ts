// The minimum rate of every request body and response body.
// Guarantee: a client that makes no progress for SERVER.noProgressMs is cut. Under pressure, it must move
// SERVER.minProgressBytes within the shorter SERVER.pressureNoProgressMs.
//
// Only the time in which the server waits for the client counts. A slow store, a queue inside the server and
// a stopped process cost the client nothing. One sweep checks all transfers: a timer for each would cost
// small requests too much.

import type { ServerLimits } from '../limits.ts';
import type { Clock } from './awake-clock.ts';
import type { Capacity } from './capacity.ts';
import { ConnectionSet, SetMember } from './connection-set.ts';

type MinRateLimits = Pick<ServerLimits, 'noProgressMs' | 'pressureNoProgressMs' | 'minProgressBytes'>;

export class Transfer extends SetMember {
  readonly #clock: Clock;
  readonly #minProgressBytes: number;
  readonly #cut: () => void;
  #waitingSince: number | undefined;
  /** Time waited before #waitingSince: since the last byte, and since the last minProgressBytes. */
  #idleMs = 0;
  #slowMs = 0;
  #bytes = 0;

  constructor(clock: Clock, minProgressBytes: number, cut: () => void) {
    super();
    this.#clock = clock;
    this.#minProgressBytes = minProgressBytes;
    this.#cut = cut;
  }

  /** The server waits for the client from now on. */
  startWaiting(): void {
    this.#waitingSince ??= this.#clock.now;
  }

  /** The server has its own work to do: the client's clock stops. */
  stopWaiting(): void {
    if (this.#waitingSince === undefined) return;
    const waited = this.#clock.now - this.#waitingSince;
    this.#idleMs += waited;
    this.#slowMs += waited;
    this.#waitingSince = undefined;
  }

  progress(bytes: number): void {
    if (this.#waitingSince !== undefined) {
      this.stopWaiting();
      this.startWaiting();
    }
    this.#idleMs = 0;
    this.#bytes += bytes;
    if (this.#bytes < this.#minProgressBytes) return;
    this.#bytes = 0;
    this.#slowMs = 0;
  }

  check(isUnderPressure: boolean, { noProgressMs, pressureNoProgressMs }: MinRateLimits): void {
    if (this.#waitingSince === undefined) return;
    const current = this.#clock.now - this.#waitingSince;
    const isIdle = this.#idleMs + current > noProgressMs;
    const isTooSlow = isUnderPressure && this.#slowMs + current > pressureNoProgressMs;
    if (isIdle || isTooSlow) this.#cut();
  }
}

export class MinRate {
  readonly #limits: MinRateLimits;
  readonly #clock: Clock;
  readonly #capacity: Pick<Capacity, 'isUnderPressure'>;
  readonly #transfers = new ConnectionSet<Transfer>();

  constructor(limits: MinRateLimits, clock: Clock, capacity: Pick<Capacity, 'isUnderPressure'>) {
    this.#limits = limits;
    this.#clock = clock;
    this.#capacity = capacity;
  }

  /** Every check calls `cut` while the client is too slow. `cut` must end the transfer. */
  begin(cut: () => void): Transfer {
    const transfer = new Transfer(this.#clock, this.#limits.minProgressBytes, cut);
    this.#transfers.add(transfer);
    return transfer;
  }

  end(transfer: Transfer): void {
    this.#transfers.delete(transfer);
  }

  /** The time limit for what is not counted in bytes: a header, a TLS handshake, the first gRPC call. */
  get timeoutMs(): number {
    return this.#capacity.isUnderPressure ? this.#limits.pressureNoProgressMs : this.#limits.noProgressMs;
  }

  /** The rule in words, for the error response to a client that was too slow. */
  get rule(): string {
    const { noProgressMs, pressureNoProgressMs, minProgressBytes } = this.#limits;
    const [calm, pressed] = [noProgressMs / 1000, pressureNoProgressMs / 1000];
    return `nothing moved for ${calm} s, or less than ${minProgressBytes} bytes in ${pressed} s under pressure`;
  }

  /** Checks all transfers. */
  check(): void {
    const { isUnderPressure } = this.#capacity;
    this.#transfers.visitAll((transfer) => transfer.check(isUnderPressure, this.#limits));
  }
}
