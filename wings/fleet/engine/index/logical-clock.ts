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
import { AssayError } from '../../../../core/errors.ts';
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import type { Database, Queries, Statement } from './database.ts';

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

export class FleetClock {
  readonly #now: () => number;
  #database: Database | undefined;
  #tickMs: number | undefined;
  /** The last tick that this node has seen, and when it saw it first. */
  #seen: { readonly tick: number; readonly at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** Before `greet` it knows nothing, and before `start` it advances nothing. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws ASSAY_INDEX_AWAY if this node has never reached PostgreSQL. */
  get tickMs(): number {
    if (this.#tickMs !== undefined) return this.#tickMs;
    throw new AssayError('ASSAY_INDEX_AWAY', 'this server has not read the clock yet');
  }

  async greet(queries: Queries): Promise<void> {
    const { tick, tickMs } = await readClock(queries);
    this.#tickMs = tickMs;
    if (tick !== this.#seen?.tick) this.#seen = { tick, at: this.#now() };
  }

  start(database: Database): void {
    this.#database = database;
    this.#lookLater();
  }

  #lookLater(): void {
    const delayMs = this.#tickMs === undefined ? FLEET.probeMs : Math.max(1, this.#tickMs / 2);
    this.#timer = setTimeout(() => {
      this.#looking = this.look()
        .catch(() => {})
        .then(() => {
          if (!this.#isStopped) this.#lookLater();
        });
    }, delayMs);
    this.#timer.unref();
  }

  /** That many ticks last at least so long. */
  ticksFor(milliseconds: number): number {
    return Math.ceil(milliseconds / this.tickMs) + 1;
  }

  /** Reads the clock, and advances it if this node has seen its tick for long enough (C1). */
  async look(): Promise<void> {
    const database = this.#database;
    if (!database) return;
    const { tick } = await readClock(database);
    const now = this.#now();
    if (tick !== this.#seen?.tick) this.#seen = { tick, at: now };
    else if (now - this.#seen.at >= this.tickMs) await database.query(ADVANCE, [tick]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }
}

async function readClock(queries: Queries): Promise<{ tick: number; tickMs: number }> {
  const [row] = await queries.query<{ tick: number; tickMs: number }>(READ);
  if (!row) throw new AssayError('ASSAY_INDEX_VERSION', 'the clock has no row');
  return row;
}
