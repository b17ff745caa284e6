// How long a client may keep the server waiting: a fixed grace, and then in proportion to the bytes that it moved.
//
// One rule for both directions. A client that sends a byte a minute and one that never reads would otherwise hold a
// connection and a buffer for ever. Only waiting for the client counts: a store that is slow costs it nothing. One timer
// looks at all transfers, because a timer for each would cost small requests more than the rule is worth.
import type { ServerLimits } from '../core/limits.ts';
import { Placed, Roster } from './roster.ts';

export type PaceLimits = Pick<ServerLimits, 'bodyGraceMs' | 'bodyBytesPerSecond'>;

export class Transfer extends Placed {
  readonly #now: () => number;
  readonly #giveUp: () => void;
  readonly #stillWaits: () => void;
  #bytes = 0;
  #waitedMs = 0;
  #waitingSince: number | undefined;

  constructor(now: () => number, giveUp: () => void, stillWaits: () => void) {
    super();
    this.#now = now;
    this.#giveUp = giveUp;
    this.#stillWaits = stillWaits;
  }

  /** From now on it is the client that everybody waits for. */
  waits(): void {
    this.#waitingSince ??= this.#now();
  }

  /** From now on it is not. */
  rests(): void {
    if (this.#waitingSince === undefined) return;
    this.#waitedMs += this.#now() - this.#waitingSince;
    this.#waitingSince = undefined;
  }

  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  check(now: number, { bodyGraceMs, bodyBytesPerSecond }: PaceLimits): void {
    const current = this.#waitingSince === undefined ? 0 : now - this.#waitingSince;
    const allowed = bodyGraceMs + (this.#bytes / bodyBytesPerSecond) * 1000;
    if (this.#waitedMs + current > allowed) this.#giveUp();
    else if (this.#waitingSince !== undefined) this.#stillWaits();
  }
}

export class Pace {
  readonly #limits: PaceLimits;
  readonly #now: () => number;
  readonly #transfers = new Roster<Transfer>();

  constructor(limits: PaceLimits, now: () => number = performance.now.bind(performance)) {
    this.#limits = limits;
    this.#now = now;
  }

  /** At every check `giveUp` is called while the client is too slow, `stillWaits` while it is only waited for. */
  begin(giveUp: () => void, stillWaits: () => void = () => {}): Transfer {
    const transfer = new Transfer(this.#now, giveUp, stillWaits);
    this.#transfers.add(transfer);
    return transfer;
  }

  end(transfer: Transfer): void {
    this.#transfers.delete(transfer);
  }

  /** Of all, or of a share and the next time of the next. */
  check(share = 1): void {
    const now = this.#now();
    this.#transfers.show(share, (transfer) => transfer.check(now, this.#limits));
  }
}
