// Eviction: removes the least recently used results, and blobs that no result names, in small steps.
// docs/decisions/0017 has the proof.
//
// Invariants:
// E1 Only expired entries are removed: no lease on them is valid (L3, C6).
// E2 The order is by tick, and results come before blobs of the same tick. A blob is removed only if every
//    result has a later tick, so by L4 no result names it.
// E3 Every counted entry has an age row at its tick or an earlier one. A use does not move the row. Eviction
//    moves a row whose entry was used since, and removes a row without an entry.
// E4 An entry is removed only if it is unchanged since eviction read it (I3). So a use that commits first
//    keeps the entry.
// E5 A file is removed after the commit that removes its entry. A crash between them leaves a stray file,
//    which reconciliation.ts removes.
//
//   oldest age row ── tick not expired ──> stop: everything is leased
//         │
//   entry has another tick ──> move the row to that tick, or remove it if the entry is gone
//         │ same tick
//   remove if unchanged ── the entry was used meanwhile ──> it stays
//         │ committed
//   remove its file
import { parseHash } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import { removeFile } from '../fs/calls.ts';
import { filePath, type Layout } from '../fs/layout.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import type { Index } from '../index/index.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import { type Age, type AgeKind, ageKeyOf, BLOB_AGE, decodeAge, RESULT_AGE } from '../index/records.ts';
import { rowsFrom, type Table } from '../index/tables.ts';

export interface Evicted {
  readonly results: number;
  readonly blobs: number;
  /** Uploads of which only some parts had arrived. */
  readonly uploads: number;
  readonly bytes: number;
}

/** One commit of an eviction. */
export interface EvictionStep extends Evicted {
  /** How long the last of its entries had not been used, if that is known. */
  readonly unusedMs?: number;
}

export const NOTHING_EVICTED: Evicted = { results: 0, blobs: 0, uploads: 0, bytes: 0 };

export function sumOf(a: Evicted, b: Evicted): Evicted {
  return {
    results: a.results + b.results,
    blobs: a.blobs + b.blobs,
    uploads: a.uploads + b.uploads,
    bytes: a.bytes + b.bytes,
  };
}

export class Eviction {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #clock: LogicalClock;

  constructor(layout: Layout, index: Index, ticks: LogicalClock) {
    this.#layout = layout;
    this.#index = index;
    this.#clock = ticks;
  }

  /**
   * Undefined if everything is leased or the store is empty. Removes no more than `wantedBytes` need, and at
   * most `mostEntries` in one commit.
   */
  async step(wantedBytes: number, mostEntries: number): Promise<EvictionStep | undefined> {
    this.#index.refresh();
    const firstResult = this.#oldest(RESULT_AGE, 1)[0]?.tick ?? Number.POSITIVE_INFINITY;
    const firstBlob = this.#oldest(BLOB_AGE, 1)[0]?.tick ?? Number.POSITIVE_INFINITY;
    if (firstResult <= firstBlob) {
      // Blobs of these results follow and free far more, so a small need removes few results.
      const few = Math.max(STORE.evictEntries, Math.floor(wantedBytes / ENTRY_BYTES));
      const results = this.#oldest(RESULT_AGE, Math.min(mostEntries, few));
      return this.#evictResults(upToTick(results, Math.min(firstBlob, this.#clock.expired(1))));
    }
    const unnamed = this.#oldest(BLOB_AGE, mostEntries).filter(({ tick }) => tick < firstResult);
    return this.#evictBlobs(upToTick(unnamed, this.#clock.expired()), wantedBytes);
  }

  /** What steps for that many bytes would remove now. `onPage` is awaited after each page. */
  async preview(wantedBytes: number, onPage: () => Promise<void>): Promise<Evicted> {
    const last = this.#clock.expired(1);
    const results = this.#expired(RESULT_AGE, last, onPage);
    let result = (await results.next()).value;
    let [named, blobs, bytes] = [0, 0, 0];
    for await (const blob of this.#expired(BLOB_AGE, last, onPage)) {
      if (bytes >= wantedBytes) break;
      for (; result && result.tick <= blob.tick; result = (await results.next()).value) named++;
      blobs++;
      bytes += this.#sizeOf(blob.key);
    }
    return { ...NOTHING_EVICTED, results: named, blobs, bytes };
  }

  /** In the order of eviction. Yields to the event loop after each page. */
  async *#expired(kind: AgeKind, last: number, onPage: () => Promise<void>): AsyncGenerator<Age, undefined> {
    const end = Buffer.from([kind + 1]);
    let from: Buffer = Buffer.from([kind]);
    for (;;) {
      this.#index.refresh();
      const rows = rowsFrom(this.#ages, from, end, from.length > 1).map((row) => decodeAge(row.key));
      const until = rows.at(-1);
      if (!until) return undefined;
      for (const age of rows) {
        if (age.tick > last) return undefined;
        if (this.#tickOf(kind, age.key) <= last) yield age;
      }
      from = ageKeyOf(kind, until.tick, until.target);
      await new Promise((resolve) => setImmediate(resolve));
      await onPage();
    }
  }

  #tickOf(kind: AgeKind, key: Buffer): number {
    return kind === RESULT_AGE ? this.#index.resultTick(key) : (this.#index.findByKey(key)?.tick ?? 0);
  }

  #sizeOf(key: Buffer): number {
    const entry = this.#index.findByKey(key);
    if (!entry) return 0;
    return entry.isFile ? allocatedBytes(entry.size) : entry.size;
  }

  #oldest(kind: AgeKind, most: number): Age[] {
    const rows = rowsFrom(this.#ages, Buffer.from([kind]), Buffer.from([kind + 1]), false, most);
    return rows.map(({ key }) => decodeAge(key));
  }

  get #ages(): Table {
    return this.#index.tables.table('ages');
  }

  async #evictResults(rows: readonly Age[]): Promise<EvictionStep | undefined> {
    if (rows.length === 0) return undefined;
    const removals = rows.map((age) => {
      const actual = this.#index.resultTick(age.key);
      if (actual === age.tick) return this.#index.removeResultIfUnused(age.key, age.tick);
      return this.#moveAgeRow(RESULT_AGE, age, actual);
    });
    const results = (await Promise.all(removals)).filter(Boolean).length;
    return { ...NOTHING_EVICTED, results, ...this.#ageOf(rows) };
  }

  async #evictBlobs(rows: readonly Age[], wantedBytes: number): Promise<EvictionStep | undefined> {
    if (rows.length === 0) return undefined;
    let bytes = 0;
    const removals: Promise<number>[] = [];
    for (const row of rows) {
      if (bytes >= wantedBytes) break;
      const { takes, removal } = this.#evictBlob(row);
      bytes += takes;
      removals.push(removal);
    }
    const freed = await Promise.all(removals);
    return {
      ...NOTHING_EVICTED,
      blobs: freed.filter((size) => size > 0).length,
      bytes: freed.reduce((sum, size) => sum + size, 0),
      ...this.#ageOf(rows.slice(0, removals.length)),
    };
  }

  #ageOf(rows: readonly Age[]): Pick<EvictionStep, 'unusedMs'> {
    const unusedMs = this.#clock.age(rows.at(-1)?.tick ?? 0);
    return unusedMs === undefined ? {} : { unusedMs };
  }

  /** `takes`: the bytes of the content and its index rows. `removal` resolves to the freed content bytes. */
  #evictBlob(age: Age): { takes: number; removal: Promise<number> } {
    const { tick, key } = age;
    const entry = this.#index.findByKey(key);
    if (entry?.tick !== tick) {
      const moved = this.#moveAgeRow(BLOB_AGE, age, entry?.tick ?? 0);
      return { takes: 0, removal: moved.then(() => 0) };
    }
    const size = entry.isFile ? allocatedBytes(entry.size) : entry.size;
    const removal = this.#index.removeIfUnchanged(key, entry).then(async (isRemoved) => {
      if (!isRemoved) return 0;
      if (entry.isFile) await this.#removeBlobFile(key, entry.generation);
      return size;
    });
    return { takes: size + ENTRY_BYTES, removal };
  }

  async #removeBlobFile(key: Buffer, generation: number): Promise<void> {
    await removeFile(filePath(this.#layout, parseHash(key.toString('hex')), generation));
  }

  /** To the entry's tick, or away if the entry is gone (E3). */
  async #moveAgeRow(kind: AgeKind, { tick, target }: Age, to: number): Promise<false> {
    await this.#index.tables.commit(async () => {
      const removed = this.#ages.remove(ageKeyOf(kind, tick, target));
      if (to > tick) await this.#ages.put(ageKeyOf(kind, to, target), Buffer.alloc(1));
      return removed;
    });
    return false;
  }
}

/** Roughly what an entry takes in the index besides its content. */
const ENTRY_BYTES = 384;

function upToTick(rows: readonly Age[], last: number): Age[] {
  return rows.filter(({ tick }) => tick <= last);
}
