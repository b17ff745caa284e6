// How long a client may keep the server waiting without progress, in either direction.
//
// Any byte is progress while there is room for everybody. Under pressure progress is SERVER.progressBytes within a shorter
// time, so that clients that dribble make room too. Only waiting for the client counts: a slow store, a queue of the
// server's own and a server that was not running cost it nothing. One sweep checks all transfers, because a timer for each
// would cost small requests more than the rule is worth.

import type { Load } from '../capacity/limits-in-use.ts';
import type { ServerLimits } from '../limits.ts';
import type { Clock } from './awake-clock.ts';
import { Placed, Roster } from './connection-set.ts';

export type PaceLimits = Pick<ServerLimits, 'noProgressMs' | 'pressedNoProgressMs' | 'progressBytes'>;

export class Transfer extends Placed {
  readonly #clock: Clock;
  readonly #progressBytes: number;
  readonly #giveUp: () => void;
  #waitingSince: number | undefined;
  /** What it was waited for before that, since the last byte and since the last progressBytes. */
  #idleMs = 0;
  #slowMs = 0;
  #bytes = 0;

  constructor(clock: Clock, progressBytes: number, giveUp: () => void) {
    super();
    this.#clock = clock;
    this.#progressBytes = progressBytes;
    this.#giveUp = giveUp;
  }

  /** From now on the server waits for the client. */
  waits(): void {
    this.#waitingSince ??= this.#clock.now;
  }

  /** From now on it does not. */
  rests(): void {
    if (this.#waitingSince === undefined) return;
    const waited = this.#clock.now - this.#waitingSince;
    this.#idleMs += waited;
    this.#slowMs += waited;
    this.#waitingSince = undefined;
  }

  moved(bytes: number): void {
    if (this.#waitingSince !== undefined) {
      this.rests();
      this.waits();
    }
    this.#idleMs = 0;
    this.#bytes += bytes;
    if (this.#bytes < this.#progressBytes) return;
    this.#bytes = 0;
    this.#slowMs = 0;
  }

  check(isPressed: boolean, { noProgressMs, pressedNoProgressMs }: PaceLimits): void {
    if (this.#waitingSince === undefined) return;
    const current = this.#clock.now - this.#waitingSince;
    const isIdle = this.#idleMs + current > noProgressMs;
    const isInTheWay = isPressed && this.#slowMs + current > pressedNoProgressMs;
    if (isIdle || isInTheWay) this.#giveUp();
  }
}

export class Pace {
  readonly #limits: PaceLimits;
  readonly #clock: Clock;
  readonly #load: Pick<Load, 'isPressed'>;
  readonly #transfers = new Roster<Transfer>();

  constructor(limits: PaceLimits, clock: Clock, load: Pick<Load, 'isPressed'>) {
    this.#limits = limits;
    this.#clock = clock;
    this.#load = load;
  }

  /** `giveUp` is called at every check while the client makes no progress, and ends the transfer. */
  begin(giveUp: () => void): Transfer {
    const transfer = new Transfer(this.#clock, this.#limits.progressBytes, giveUp);
    this.#transfers.add(transfer);
    return transfer;
  }

  end(transfer: Transfer): void {
    this.#transfers.delete(transfer);
  }

  /** How long whatever is not counted in bytes may take: a header, a handshake, the first call. */
  get patienceMs(): number {
    return this.#load.isPressed ? this.#limits.pressedNoProgressMs : this.#limits.noProgressMs;
  }

  /** The rule in words, for whoever broke it. */
  get rule(): string {
    const { noProgressMs, pressedNoProgressMs, progressBytes } = this.#limits;
    const [calm, pressed] = [noProgressMs / 1000, pressedNoProgressMs / 1000];
    return `nothing moved for ${calm} s, or less than ${progressBytes} bytes in ${pressed} s while the server is short of room`;
  }

  /** Of all, or of a share and the next time of the next. */
  check(share = 1): void {
    const { isPressed } = this.#load;
    this.#transfers.show(share, (transfer) => transfer.check(isPressed, this.#limits));
  }
}
