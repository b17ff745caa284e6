// The logical clock, shared by all processes on a store. A tick is its unit: a number, and the time at which
// it began. Blobs and results are stamped with ticks, so their age is an order of numbers.
// docs/decisions/0016 has the proof.
//
// Invariants:
// C1 A tick begins once: the first commit with its number writes the time, and no later commit changes it.
// C2 Within one boot, a tick with a higher number began later, by at least leaseMs / leaseTicks.
// C3 Times compare only under one clock name (one boot, one time namespace). Ticks of another clock count as
//    older than every tick of this one, and expire only together with a tick of this one.
// C4 The wall clock has no effect.
// C5 A write that stamps a blob begins its tick in the same commit. Reads begin no tick. A result may carry a
//    tick that has not begun yet, which counts as newer than all others.
// C6 Cached values are at most STORE.tickSlackMs old, and `expired` waits that much longer.
//
//   tick n is current ──(a write, leaseMs / leaseTicks later)──> tick n + 1 is current ──> …
//   tick n expires: leaseMs + window + slack after it began; from then on C3 lets all ticks up to n expire

import type { BootClock } from '../../../system/process/uptime.ts';
import { STORE } from '../../limits.ts';
import { type Row, rowsBefore, type Table, type Tables } from './tables.ts';

interface Tick {
  readonly number: number;
  /** By the clock with that name. */
  readonly began: number;
  readonly clock: string;
}

/**
 * The tick for a write. Call `begin` synchronously with the write: it begins the tick if no other process has
 * (C5).
 */
export interface Stamp {
  readonly tick: number;
  begin(): void;
}

/** The last ticks, as they were read at `at`. */
interface RecentTicks {
  readonly at: number;
  readonly last: Tick | undefined;
  readonly freshBlob: number;
  readonly freshResult: number;
}

export class LogicalClock {
  readonly leaseMs: number;
  readonly #tables: Tables;
  readonly #uptime: BootClock;
  #cached: RecentTicks | undefined;

  constructor(tables: Tables, clock: BootClock, leaseMs: number) {
    this.#tables = tables;
    this.#uptime = clock;
    this.leaseMs = leaseMs;
  }

  get #windowMs(): number {
    return this.leaseMs / STORE.leaseWindows;
  }

  /**
   * A blob with this tick or a later one needs no new stamp (L2). If the last tick began before the window,
   * this is the number of the next one.
   */
  freshBlob(): number {
    return this.#recent().freshBlob;
  }

  /** The same for a result, whose tick may be one window older than its use (L4). */
  freshResult(): number {
    return this.#recent().freshResult;
  }

  /** A tick that has begun; perhaps not the last one. Cheaper than a stamp, which may have to read the ticks. */
  lastBegun(): number {
    return this.#recent().last?.number ?? 0;
  }

  stamp(): Stamp {
    const now = this.#uptime.now();
    let { last } = this.#recent();
    if (!this.#isCurrent(last, now)) last = this.#reload().last;
    if (last && this.#isCurrent(last, now)) return { tick: last.number, begin: () => {} };
    const number = (last?.number ?? 0) + 1;
    return { tick: number, begin: () => this.#beginTick({ number, began: now, clock: this.#uptime.name }) };
  }

  /**
   * No lease of an entry with this tick or an earlier one is still valid. `extraWindows`: 1 for results (L4).
   */
  expired(extraWindows = 0): number {
    const held = this.leaseMs + (1 + extraWindows) * this.#windowMs + STORE.tickSlackMs;
    const before = this.#uptime.now() - held;
    this.#tables.refresh();
    let rows = this.#rows(STORE.rangeEntries);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      const over = rows.find(({ clock, began }) => clock === this.#uptime.name && began <= before);
      if (over) return over.number;
      rows = this.#rows(STORE.rangeEntries, last.number - 1);
    }
    return NO_TICK;
  }

  /** How long ago a tick began. Undefined for one of another boot, and for one that is no longer kept. */
  age(number: number): number | undefined {
    const [tick] = this.#rows(1, number);
    if (tick?.number !== number || tick.clock !== this.#uptime.name) return undefined;
    return this.#uptime.now() - tick.began;
  }

  #isCurrent(tick: Tick | undefined, now: number): boolean {
    const lengthMs = this.leaseMs / STORE.leaseTicks;
    return tick !== undefined && tick.clock === this.#uptime.name && now - tick.began < lengthMs;
  }

  #beginTick(tick: Tick): void {
    const table = this.#table;
    const key = keyOf(tick.number);
    const begun = table.ifNoExists(key, () => {
      table.put(key, encodeTick(tick), 1);
      if (tick.number > STORE.keptTicks) table.remove(keyOf(tick.number - STORE.keptTicks));
    });
    // The write that goes with it fails for the same reason and reports it.
    begun.catch(() => {});
    this.#cached = undefined;
  }

  /** At most STORE.tickSlackMs old (C6). */
  #recent(): RecentTicks {
    const isOld = !this.#cached || this.#uptime.now() - this.#cached.at >= STORE.tickSlackMs;
    return isOld || !this.#cached ? this.#reload() : this.#cached;
  }

  #reload(): RecentTicks {
    this.#tables.refresh();
    const now = this.#uptime.now();
    const ticks = this.#rows(2 * (STORE.leaseTicks / STORE.leaseWindows) + 2);
    this.#cached = {
      at: now,
      last: ticks[0],
      freshBlob: this.#firstSince(now - this.#windowMs, ticks),
      freshResult: this.#firstSince(now - 2 * this.#windowMs, ticks),
    };
    return this.#cached;
  }

  /** The number of the first tick that began since then. Stops at the first tick of another clock (C3). */
  #firstSince(since: number, newestFirst: readonly Tick[]): number {
    const isRecent = ({ clock, began }: Tick) => clock === this.#uptime.name && began >= since;
    const older = newestFirst.findIndex((tick) => !isRecent(tick));
    if (older === -1) return newestFirst.at(-1)?.number ?? 1;
    return (newestFirst[older]?.number ?? 0) + 1;
  }

  #rows(limit: number, from = MAX_TICK): readonly Tick[] {
    return rowsBefore(this.#table, keyOf(from), keyOf(0), limit).map(decodeTick);
  }

  get #table(): Table {
    return this.#tables.table('state');
  }
}

const MAX_TICK = 2 ** 32 - 1;
const NO_TICK = -1;
const PREFIX = 't'.charCodeAt(0);

function keyOf(number: number): Buffer {
  const key = Buffer.alloc(5, PREFIX);
  key.writeUInt32BE(number, 1);
  return key;
}

function encodeTick({ began, clock }: Tick): Buffer {
  const name = Buffer.from(clock);
  const value = Buffer.alloc(8 + name.length);
  value.writeDoubleLE(began);
  value.set(name, 8);
  return value;
}

function decodeTick({ key, value }: Row): Tick {
  return { number: key.readUInt32BE(1), began: value.readDoubleLE(), clock: value.toString('utf8', 8) };
}
