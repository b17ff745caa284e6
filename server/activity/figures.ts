// Figures: counts by namespace, for each minute of a day and each hour of 90 days.
//
// The counts of the current minute are in memory, and a flush writes them under an id of this process and the
// minute, again and again. So a crash loses what came after the last flush, and several processes add up. A
// minute that has ended is added to its hour. A reader adds the stored documents and what this process has not
// stored yet.
import { DEFAULT_NAMESPACE, type Namespace } from '../../core/namespace.ts';
import type { History, HistoryDocument } from '../../store/history.ts';
import { documentOf, documentsIn } from '../dashboard/documents.ts';
import { DASHBOARD } from '../limits.ts';
import { Counters, type StoredCounters } from './counters.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** The counts of one minute or hour, by namespace. */
interface Slot {
  readonly at: number;
  readonly counters: Map<Namespace, Counters>;
}

type Width = typeof MINUTE | typeof HOUR;

interface Steps {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
}

export class Figures {
  readonly #process: string;
  readonly #now: () => number;
  #minute: Slot;
  #hour: Slot;
  /** Ended, and not stored yet: at most MAX_UNSTORED of them. */
  #ended: { readonly width: Width; readonly slot: Slot }[] = [];
  #isDirty = false;

  /** `process` is unique among all processes that use the store. */
  constructor(process: string, now: () => number) {
    this.#process = process;
    this.#now = now;
    this.#minute = emptySlot(now(), MINUTE);
    this.#hour = emptySlot(now(), HOUR);
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
    this.#ended.push({ width: MINUTE, slot: this.#minute });
    for (const [namespace, counts] of this.#minute.counters) {
      const sum = this.#hour.counters.get(namespace) ?? new Counters();
      sum.add(counts);
      this.#hour.counters.set(namespace, sum);
    }
    /* Also written when the hour goes on: a crash then loses a minute of it. */
    this.#ended.push({ width: HOUR, slot: this.#hour });
    if (now >= this.#hour.at + HOUR || now < this.#hour.at) this.#hour = emptySlot(now, HOUR);
    this.#minute = emptySlot(now, MINUTE);
    this.#ended = this.#ended.slice(-MAX_UNSTORED);
  }

  /** `isLast`: no request comes after it. */
  async flush(history: History, isLast = false): Promise<void> {
    if (isLast || this.#now() >= this.#minute.at + MINUTE) this.#begin(this.#now());
    const ended = this.#ended;
    if (ended.length === 0 && !this.#isDirty) return;
    this.#ended = [];
    this.#isDirty = false;
    const slots = [...ended, { width: MINUTE, slot: this.#minute } as const];
    try {
      await history.put(slots.flatMap(({ width, slot }) => this.#documents(width, slot)));
    } catch (error) {
      this.#ended = [...ended, ...this.#ended].slice(-MAX_UNSTORED);
      this.#isDirty = true;
      throw error;
    }
  }

  #documents(width: Width, { at, counters }: Slot): HistoryDocument[] {
    return [...counters].map(([namespace, counts]) =>
      documentOf({ kind: kindOf(width), namespace, id: this.#id(at), at }, counts),
    );
  }

  #id(at: number): string {
    return `${this.#process}-${at / MINUTE}`;
  }

  /**
   * The counts of a period in steps, oldest first. `undefined` as namespaces: all of them. Steps below an hour
   * are known for DASHBOARD.minutesKeptMs.
   */
  async read(
    history: History,
    namespaces: readonly Namespace[] | undefined,
    { from, to, stepMs }: Steps,
  ): Promise<Counters[]> {
    const first = Math.floor(from / stepMs);
    const sums = Array.from({ length: Math.max(1, Math.ceil(to / stepMs) - first) }, () => new Counters());
    const add = (at: number, counts: Counters) => sums[Math.floor(at / stepMs) - first]?.add(counts);
    for (const part of this.#parts({ from: first * stepMs, to, stepMs })) {
      const query = { kind: kindOf(part.width), namespaces, from: part.from, to: part.to };
      const unstored = this.#unstored(part.width);
      const own = new Set(unstored.map(({ at }) => this.#id(at)));
      for await (const { name, value } of documentsIn<StoredCounters>(history, query))
        if (!own.has(name.id)) add(name.at, Counters.from(value));
      for (const { at, counters } of unstored)
        for (const [namespace, counts] of counters)
          if (at >= part.from && at < part.to && (namespaces?.includes(namespace) ?? true)) add(at, counts);
    }
    return sums;
  }

  /** Hours are fewer documents than minutes. The document of the current hour may lack its last minutes. */
  #parts({
    from,
    to,
    stepMs,
  }: Steps): { readonly width: Width; readonly from: number; readonly to: number }[] {
    if (stepMs < HOUR) return [{ width: MINUTE, from, to }];
    const thisHour = Math.floor(this.#now() / HOUR) * HOUR;
    return [
      { width: HOUR, from, to: Math.min(to, thisHour) } as const,
      { width: MINUTE, from: Math.max(from, thisHour), to } as const,
    ].filter((part) => part.from < part.to);
  }

  /** Each slot once. The current minute is in no hour yet. */
  #unstored(width: Width): Slot[] {
    const ended = this.#ended.flatMap((one) => (one.width === width ? one.slot : []));
    if (width === MINUTE) return [...new Set([...ended, this.#minute])];
    const current = { at: this.#hour.at, counters: withMinute(this.#hour, this.#minute) };
    return [...new Set(ended)].filter((slot) => slot !== this.#hour).concat(current);
  }
}

const MAX_UNSTORED = 240;

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

function emptySlot(now: number, width: Width): Slot {
  return { at: Math.floor(now / width) * width, counters: new Map() };
}

function kindOf(width: Width): string {
  return width === MINUTE ? 'minute' : 'hour';
}
