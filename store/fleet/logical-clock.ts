// The logical clock of a fleet: one row with a number, the current tick, that any node may advance.
//
// Invariants:
// C1 A tick lasts at least `tick_ms`: a node advances the clock only after it has seen the same tick for that
//    long, by its own monotonic clock. A node that was stopped meanwhile finds a later tick, and changes nothing.
// C2 No wall clock has any effect: neither a node's nor PostgreSQL's.
// C3 The clock stands still while no node runs. Leases then last longer.
//
// Leases are counted in ticks. Let w be the window (STORE.leaseTicks / STORE.leaseWindows).
// L1 An answer relies on a stamp that was at most w ticks old, or on a memo of such a stamp that is at most
//    w ticks old.
// L2 A blob is evicted when its stamp is more than leaseTicks + 2 w + 1 ticks old. So between the answer and
//    the eviction lie more than leaseTicks whole ticks, which last leaseMs (C1).
import { STORE } from '../limits.ts';
import type { Database, Statement } from './database.ts';

/** A stamp younger than this needs no renewal. */
export const FRESH_TICKS = STORE.leaseTicks / STORE.leaseWindows;
/** A blob's lease has ended when its stamp is older than this (L2). A result stays for a window more. */
export const BLOB_LEASE_TICKS = STORE.leaseTicks + 2 * FRESH_TICKS + 1;
export const RESULT_LEASE_TICKS = BLOB_LEASE_TICKS + FRESH_TICKS;

const READ: Statement = {
  name: 'clock read',
  text: 'SELECT tick, tick_ms AS "tickMs" FROM assay.clock',
};

const ADVANCE: Statement = {
  name: 'clock advance',
  text: 'UPDATE assay.clock SET tick = tick + 1 WHERE tick = $1',
};

export class LogicalClock {
  readonly tickMs: number;
  readonly #database: Database;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  /** The last tick that this node has seen, and when it saw it first. */
  #seen: { readonly tick: number; readonly at: number };
  #advancing: Promise<void> = Promise.resolve();

  static async start(database: Database, now: () => number): Promise<LogicalClock> {
    const { tick, tickMs } = await readClock(database);
    return new LogicalClock(database, now, tick, tickMs);
  }

  private constructor(database: Database, now: () => number, tick: number, tickMs: number) {
    this.#database = database;
    this.#now = now;
    this.tickMs = tickMs;
    this.#seen = { tick, at: now() };
    this.#timer = setInterval(
      () => {
        this.#advancing = this.look().catch(() => {});
      },
      Math.max(1, tickMs / 2),
    );
    this.#timer.unref();
  }

  /** That many ticks last at least so long. */
  ticksFor(milliseconds: number): number {
    return Math.ceil(milliseconds / this.tickMs) + 1;
  }

  /** Reads the clock, and advances it if this node has seen its tick for long enough (C1). */
  async look(): Promise<void> {
    const { tick } = await readClock(this.#database);
    const now = this.#now();
    if (tick !== this.#seen.tick) this.#seen = { tick, at: now };
    else if (now - this.#seen.at >= this.tickMs) await this.#database.query(ADVANCE, [tick]);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#advancing;
  }
}

async function readClock(database: Database): Promise<{ tick: number; tickMs: number }> {
  const [row] = await database.query<{ tick: number; tickMs: number }>(READ);
  return row ?? { tick: 0, tickMs: Number.POSITIVE_INFINITY };
}
