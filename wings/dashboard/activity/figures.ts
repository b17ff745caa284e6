// Figures: counts by namespace, for each minute and each ten minutes of a day, and each hour of 90 days.
//
// The counts of the current minute are in memory, and a flush writes them under an id of this process and the
// minute, again and again. So a crash loses what came after the last flush, and several processes add up. A
// minute that has ended is added to its ten minutes and its hour. A reader adds the stored documents and what this
// process has not stored yet. It reads the widest documents that it can: a day of minutes took a second to read.

import {
  DEFAULT_NAMESPACE,
  isInRange,
  type Namespace,
  type NamespaceRange,
} from '../../../core/namespace.ts';
import { MINUTE } from '../../../core/units.ts';
import { documentOf, documentsIn } from '../../../server/history/documents.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../limits.ts';
import { Counters, type StoredCounters } from './counters.ts';

export const TEN_MINUTES = 10 * MINUTE;
export const HOUR = 60 * MINUTE;

/** The counts of one minute, ten minutes or an hour, by namespace. */
interface Slot {
  /** Of its documents. Unique, also if a clock that was set back passes the same minute again. */
  readonly id: string;
  readonly at: number;
  readonly counters: Map<Namespace, Counters>;
}

/** The kinds of documents, and what each covers. */
const WIDTHS = { hour: HOUR, 'ten-minutes': TEN_MINUTES, minute: MINUTE };

type Width = keyof typeof WIDTHS;

/** The widest first. */
const WIDER = ['hour', 'ten-minutes'] as const;

interface Part {
  readonly width: Width;
  readonly from: number;
  readonly to: number;
}

interface Steps {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
}

export class ActivityFigures {
  readonly #process: string;
  readonly #now: () => number;
  #minute: Slot;
  readonly #wider: Record<(typeof WIDER)[number], Slot>;
  #timesSetBack = 0;
  /** Ended, and not stored yet: at most DASHBOARD.unstoredMinutes of them. */
  #ended: { readonly width: Width; readonly slot: Slot }[] = [];
  #isDirty = false;

  /** `process` is unique among all processes that use the store. */
  constructor(process: string, now: () => number) {
    this.#process = process;
    this.#now = now;
    this.#minute = this.#emptySlot(now(), 'minute');
    this.#wider = {
      hour: this.#emptySlot(now(), 'hour'),
      'ten-minutes': this.#emptySlot(now(), 'ten-minutes'),
    };
  }

  /** The counts of this minute. Beyond DASHBOARD.maxNamespaces, the others are counted with the default one. */
  of(namespace: Namespace, now = this.#now()): Counters {
    if (now >= this.#minute.at + MINUTE || now < this.#minute.at) this.#begin(now);
    this.#isDirty = true;
    const { counters } = this.#minute;
    const known = counters.get(namespace);
    if (known) return known;
    const isFull = counters.size >= DASHBOARD.maxNamespaces;
    const name = isFull ? DEFAULT_NAMESPACE : namespace;
    const added = counters.get(name) ?? new Counters();
    counters.set(name, added);
    return added;
  }

  #begin(now: number): void {
    if (now < this.#minute.at) this.#timesSetBack++;
    this.#ended.push({ width: 'minute', slot: this.#minute });
    for (const width of WIDER) {
      const slot = this.#wider[width];
      for (const [namespace, counts] of this.#minute.counters) {
        const sum = slot.counters.get(namespace) ?? new Counters();
        sum.add(counts);
        slot.counters.set(namespace, sum);
      }
      /* Also written when it goes on: a crash then loses a minute of it. */
      this.#ended.push({ width, slot });
      if (now >= slot.at + WIDTHS[width] || now < slot.at) this.#wider[width] = this.#emptySlot(now, width);
    }
    this.#minute = this.#emptySlot(now, 'minute');
    this.#ended = this.#ended.slice(-DASHBOARD.unstoredMinutes);
  }

  #emptySlot(now: number, width: Width): Slot {
    const at = Math.floor(now / WIDTHS[width]) * WIDTHS[width];
    const again = this.#timesSetBack === 0 ? '' : `-${this.#timesSetBack}`;
    return { id: `${this.#process}-${at / MINUTE}${again}`, at, counters: new Map() };
  }

  /** `isLast`: no request comes after it. */
  async flush(history: History, isLast = false): Promise<void> {
    if (isLast || this.#now() >= this.#minute.at + MINUTE) this.#begin(this.#now());
    const ended = this.#ended;
    if (ended.length === 0 && !this.#isDirty) return;
    this.#ended = [];
    this.#isDirty = false;
    const slots = [...ended, { width: 'minute', slot: this.#minute } as const];
    try {
      await history.put(slots.flatMap(({ width, slot }) => this.#documents(width, slot)));
    } catch (error) {
      this.#ended = [...ended, ...this.#ended].slice(-DASHBOARD.unstoredMinutes);
      this.#isDirty = true;
      throw error;
    }
  }

  #documents(width: Width, { id, at, counters }: Slot): HistoryDocument[] {
    return [...counters].map(([namespace, counts]) => documentOf({ kind: width, namespace, id, at }, counts));
  }

  /**
   * The counts of a period in steps, oldest first. `undefined` as namespaces: all of them. Steps below an hour
   * are known for HISTORY.minutesKeptMs.
   */
  async read(history: History, namespaces: NamespaceRange, { from, to, stepMs }: Steps): Promise<Counters[]> {
    const first = Math.floor(from / stepMs);
    const sums = Array.from({ length: Math.max(1, Math.ceil(to / stepMs) - first) }, () => new Counters());
    const add = (at: number, counts: Counters) => sums[Math.floor(at / stepMs) - first]?.add(counts);
    for (const part of this.#parts({ from: first * stepMs, to, stepMs })) {
      const query = { kind: part.width, namespaces, from: part.from, to: part.to };
      const unstored = this.#unstored(part.width);
      const own = new Set(unstored.map(({ id }) => id));
      for await (const { name, value } of documentsIn<StoredCounters>(history, query))
        if (!own.has(name.id)) add(name.at, Counters.from(value));
      for (const { at, counters } of unstored)
        for (const [namespace, counts] of counters)
          if (at >= part.from && at < part.to && isInRange(namespace, namespaces)) add(at, counts);
    }
    return sums;
  }

  /** Wide documents are fewer. The one of the current hour, or ten minutes, may lack its last minutes. */
  #parts({ from, to, stepMs }: Steps): Part[] {
    const parts: Part[] = [];
    let start = from;
    for (const width of WIDER) {
      const widthMs = WIDTHS[width];
      const end = Math.min(to, Math.floor(this.#now() / widthMs) * widthMs);
      if (widthMs > stepMs || end <= start) continue;
      parts.push({ width, from: start, to: end });
      start = end;
    }
    return start < to ? [...parts, { width: 'minute', from: start, to }] : parts;
  }

  /** Each slot once. The current minute is in no hour yet. */
  #unstored(width: Width): Slot[] {
    const ended = this.#ended.flatMap((one) => (one.width === width ? one.slot : []));
    if (width === 'minute') return [...new Set([...ended, this.#minute])];
    const slot = this.#wider[width];
    const current = { ...slot, counters: withMinute(slot, this.#minute) };
    return [...new Set(ended)].filter((one) => one !== slot).concat(current);
  }
}

function withMinute({ counters }: Slot, minute: Slot): Map<Namespace, Counters> {
  const sums = new Map<Namespace, Counters>();
  for (const slot of [counters, minute.counters])
    for (const [namespace, counts] of slot) {
      const sum = sums.get(namespace) ?? new Counters();
      sum.add(counts);
      sums.set(namespace, sum);
    }
  return sums;
}
