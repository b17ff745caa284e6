// Logical time, shared by all processes on a store: ticks are numbers, and the index knows when each began. Whatever is
// used is stamped with a tick, so age is an order of numbers; only how long a lease still holds is asked of a clock, and
// that clock can't be set (uptime.ts). docs/decisions/0016 has the argument in whole.
//
// A tick begins with a write that finds the last one too old, in the same commit. Reads begin none.
import { STORE } from '../../limits.ts';
import type { Clock } from '../fs/uptime.ts';
import { type Row, rowsBefore, type Table, type Tables } from './tables.ts';

interface Tick {
  readonly number: number;
  /** By the clock of that name. */
  readonly began: number;
  readonly clock: string;
}

/** What a write is stamped with. `begin` is called in the same turn: it makes the tick begin if none else has. */
export interface Stamp {
  readonly tick: number;
  begin(): void;
}

/** What is known of the last ticks, and when it was looked at. */
interface RecentTicks {
  readonly at: number;
  readonly last: Tick | undefined;
  readonly freshBlob: number;
  readonly freshResult: number;
}

export class LogicalClock {
  readonly leaseMs: number;
  readonly #tables: Tables;
  readonly #uptime: Clock;
  #cached: RecentTicks | undefined;

  constructor(tables: Tables, clock: Clock, leaseMs: number) {
    this.#tables = tables;
    this.#uptime = clock;
    this.leaseMs = leaseMs;
  }

  get #windowMs(): number {
    return this.leaseMs / STORE.leaseWindows;
  }

  /**
   * A blob with this tick or a later one is leased in full without another write. Where the last tick is longer ago than
   * that, it is one that has not begun.
   */
  freshBlob(): number {
    return this.#recent().freshBlob;
  }

  /** The same for a result, which is stamped with the oldest tick that its blobs may have. */
  freshResult(): number {
    return this.#recent().freshResult;
  }

  stamp(): Stamp {
    const now = this.#uptime.now();
    let { last } = this.#recent();
    if (!this.#isCurrent(last, now)) last = this.#reload().last;
    if (last && this.#isCurrent(last, now)) return { tick: last.number, begin: () => {} };
    const number = (last?.number ?? 0) + 1;
    return { tick: number, begin: () => this.#beginTick({ number, began: now, clock: this.#uptime.name }) };
  }

  /** No lease that was given on what has this tick or an earlier one still holds. `extraWindows` for results. */
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
    // The write that this goes with fails for the same reason, and its caller is told.
    begun.catch(() => {});
    this.#cached = undefined;
  }

  /** May be a moment old, for which `expired` makes up. */
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

  /** The number of the first tick that began since then; of what another clock counted, nothing is known. */
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
