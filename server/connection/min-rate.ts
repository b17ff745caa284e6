// How long a client may keep the server waiting without progress, in either direction.
//
// Any byte is progress while there is room for everybody. Under pressure progress is SERVER.minProgressBytes within a shorter
// time, so that clients that dribble make room too. Only waiting for the client counts: a slow store, a queue of the
// server's own and a server that was not running cost it nothing. One sweep checks all transfers, because a timer for each
// would cost small requests more than the rule is worth.

import type { Capacity } from '../capacity/capacity.ts';
import type { ServerLimits } from '../limits.ts';
import type { Clock } from './awake-clock.ts';
import { ConnectionSet, SetMember } from './connection-set.ts';

export type MinRateLimits = Pick<ServerLimits, 'noProgressMs' | 'pressureNoProgressMs' | 'minProgressBytes'>;

export class Transfer extends SetMember {
  readonly #clock: Clock;
  readonly #minProgressBytes: number;
  readonly #giveUp: () => void;
  #waitingSince: number | undefined;
  /** What it was waited for before that, since the last byte and since the last minProgressBytes. */
  #idleMs = 0;
  #slowMs = 0;
  #bytes = 0;

  constructor(clock: Clock, minProgressBytes: number, giveUp: () => void) {
    super();
    this.#clock = clock;
    this.#minProgressBytes = minProgressBytes;
    this.#giveUp = giveUp;
  }

  /** From now on the server waits for the client. */
  startWaiting(): void {
    this.#waitingSince ??= this.#clock.now;
  }

  /** From now on it does not. */
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
    const isInTheWay = isUnderPressure && this.#slowMs + current > pressureNoProgressMs;
    if (isIdle || isInTheWay) this.#giveUp();
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

  /** `giveUp` is called at every check while the client makes no progress, and ends the transfer. */
  begin(giveUp: () => void): Transfer {
    const transfer = new Transfer(this.#clock, this.#limits.minProgressBytes, giveUp);
    this.#transfers.add(transfer);
    return transfer;
  }

  end(transfer: Transfer): void {
    this.#transfers.delete(transfer);
  }

  /** How long whatever is not counted in bytes may take: a header, a handshake, the first call. */
  get timeoutMs(): number {
    return this.#capacity.isUnderPressure ? this.#limits.pressureNoProgressMs : this.#limits.noProgressMs;
  }

  /** The rule in words, for whoever broke it. */
  get rule(): string {
    const { noProgressMs, pressureNoProgressMs, minProgressBytes } = this.#limits;
    const [calm, pressed] = [noProgressMs / 1000, pressureNoProgressMs / 1000];
    return `nothing moved for ${calm} s, or less than ${minProgressBytes} bytes in ${pressed} s while the server is short of room`;
  }

  /** Of all, or of a share and the next time of the next. */
  check(share = 1): void {
    const { isUnderPressure } = this.#capacity;
    this.#transfers.visitShare(share, (transfer) => transfer.check(isUnderPressure, this.#limits));
  }
}
