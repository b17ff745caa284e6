// Eviction: removes the least recently used results, and blobs that no result names, in small steps.
// docs/decisions/0017 has the proof.
//
// Invariants:
// E1 Only expired entries are removed: no lease on them is valid (L3, C6).
// E2 The order is by tick, and results come before blobs of the same tick. A blob is removed only if every
//    result has a later tick, so by L4 no result names it. With accounts, "every result" is every one of a
//    holder in the quarry: by A1 no other result names a blob that only these hold. If others hold the blob
//    too, the quarry's holders only give it up.
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

import { setTimeout as pause } from 'node:timers/promises';
import { parseHash } from '../../../core/digest.ts';
import { removeFile } from '../../../system/files/calls.ts';
import { STORE } from '../../limits.ts';
import { BoundedMap } from '../../shared/bounded-map.ts';
import { ENTRY_BYTES, type Holder, heldBytes } from '../accounts/accounts.ts';
import type { Holdings } from '../accounts/holdings.ts';
import { filePath, type Layout } from '../fs/layout.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import type { Index } from '../index/index.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import {
  type Age,
  type AgeKind,
  ageKeyOf,
  BLOB_AGE,
  decodeAge,
  NO_TENANTS,
  RESULT_AGE,
} from '../index/records.ts';
import { rowsFrom, type Table } from '../index/tables.ts';
import { AgeScan, type WantedAges } from './age-scan.ts';
import { type Evictor, Quarry } from './quarry.ts';

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

/** One step that only looked for entries: the next one goes on. */
const LOOKED: EvictionStep = NOTHING_EVICTED;

interface Scans {
  readonly results: AgeScan;
  readonly blobs: AgeScan;
  /** When both had found nothing, and up to which tick. */
  emptyAt: number;
  emptyUpTo: number;
}

export class Eviction {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #clock: LogicalClock;
  readonly #holdings: Holdings;
  /** By the name of a quarry. */
  readonly #scans = new BoundedMap<string, Scans>(STORE.evictionScans);

  constructor(layout: Layout, index: Index, ticks: LogicalClock, holdings: Holdings) {
    this.#layout = layout;
    this.#index = index;
    this.#clock = ticks;
    this.#holdings = holdings;
  }

  /**
   * Undefined if everything is leased or kept by a floor, or the store is empty. Removes no more than
   * `wantedBytes` need, and at most `mostEntries` in one commit.
   */
  async step(
    wantedBytes: number,
    mostEntries: number,
    evictor: Evictor = {},
  ): Promise<EvictionStep | undefined> {
    if (!(await this.#isCounted())) return undefined;
    this.#index.refresh();
    const quarry = new Quarry(this.#holdings.accounts, evictor);
    for (;;) {
      const step = await this.#stepIn(quarry, wantedBytes, mostEntries);
      if (step !== 'kept') return step;
    }
  }

  /** Nobody's floor is known before. A client waits a while, and is then refused. */
  async #isCounted(): Promise<boolean> {
    const { counted } = this.#holdings;
    if (!this.#holdings.isCounted) await Promise.race([counted, pause(STORE.countWaitMs)]);
    return this.#holdings.isCounted;
  }

  /** `kept`: a floor kept all that it found. The quarry is smaller then. */
  async #stepIn(
    quarry: Quarry,
    wantedBytes: number,
    mostEntries: number,
  ): Promise<EvictionStep | undefined | 'kept'> {
    const lastTick = this.#clock.expired();
    const scans = this.#scansOf(quarry);
    if (this.#isKnownEmpty(scans, lastTick)) return undefined;
    const results = { ...this.#wanted(RESULT_AGE, lastTick), isWanted: this.#resultsOf(quarry) };
    const blobs = { ...this.#wanted(BLOB_AGE, lastTick), isWanted: this.#blobsOf(quarry) };
    const [oldestResult, oldestBlob] = [scans.results.find(results, 1), scans.blobs.find(blobs, 1)];
    if (!oldestResult || !oldestBlob) return LOOKED;
    const firstResult = oldestResult[0]?.tick ?? Number.POSITIVE_INFINITY;
    const firstBlob = oldestBlob[0]?.tick ?? Number.POSITIVE_INFINITY;
    if (firstResult <= firstBlob && firstResult < Number.POSITIVE_INFINITY) {
      // Blobs of these results follow and free far more, so a small need removes few results.
      const few = Math.max(STORE.evictEntries, Math.floor(wantedBytes / ENTRY_BYTES));
      const found = scans.results.find(results, Math.min(mostEntries, few)) ?? [];
      return this.#evictResults(upToTick(found, Math.min(firstBlob, this.#clock.expired(1))), quarry);
    }
    const unnamed = (scans.blobs.find(blobs, mostEntries) ?? []).filter(({ tick }) => tick < firstResult);
    if (unnamed.length === 0) Object.assign(scans, { emptyAt: performance.now(), emptyUpTo: lastTick });
    return this.#evictBlobs(unnamed, wantedBytes, quarry);
  }

  #scansOf({ name }: Quarry): Scans {
    const known = this.#scans.get(name);
    if (known) return known;
    const added = {
      results: new AgeScan(false),
      blobs: new AgeScan(!this.#holdings.accounts.isEmpty),
      emptyAt: Number.NEGATIVE_INFINITY,
      emptyUpTo: -1,
    };
    this.#scans.set(name, added);
    return added;
  }

  /** Many writes of a full account would otherwise each look through the whole index. */
  #isKnownEmpty({ emptyAt, emptyUpTo }: Scans, lastTick: number): boolean {
    if (this.#holdings.accounts.isEmpty || emptyUpTo !== lastTick) return false;
    return performance.now() - emptyAt < STORE.emptyScanMs;
  }

  #wanted(kind: AgeKind, lastTick: number): Omit<WantedAges, 'isWanted'> {
    const end = Buffer.from([kind + 1]);
    return {
      rows: (after, most) =>
        rowsFrom(this.#ages, after ?? Buffer.from([kind]), end, after !== undefined, most).map(({ key }) => ({
          key,
          age: decodeAge(key),
        })),
      lastTick,
      pageRows: this.#holdings.accounts.isEmpty ? 1 : STORE.rangeEntries,
      mostRows: STORE.scannedRows,
    };
  }

  #resultsOf(quarry: Quarry): (age: Age) => boolean {
    if (this.#holdings.accounts.isEmpty) return () => true;
    return ({ key }) => quarry.includes(this.#holdings.holderOf(key));
  }

  /** Also rows that lag behind their entry: they are moved (E3). */
  #blobsOf(quarry: Quarry): (age: Age) => boolean {
    if (this.#holdings.accounts.isEmpty) return () => true;
    return ({ key, tick }) => {
      const entry = this.#index.findByKey(key);
      return entry?.tick !== tick || quarry.includesBlobOf(this.#holdings.accounts.holdersIn(entry.tenants));
    };
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

  get #ages(): Table {
    return this.#index.tables.table('ages');
  }

  async #evictResults(rows: readonly Age[], quarry: Quarry): Promise<EvictionStep | undefined | 'kept'> {
    if (rows.length === 0) return undefined;
    const removals: Promise<boolean>[] = [];
    for (const age of rows) {
      const actual = this.#index.resultTick(age.key);
      if (actual !== age.tick) removals.push(this.#moveAgeRow(RESULT_AGE, age, actual));
      else if (this.#takeResult(age.key, quarry))
        removals.push(this.#index.removeResultIfUnused(age.key, age.tick));
      // A later result may have a blob that this one names too.
      else break;
    }
    if (removals.length === 0) return 'kept';
    const results = (await Promise.all(removals)).filter(Boolean).length;
    return { ...NOTHING_EVICTED, results, ...this.#ageOf(rows.slice(0, removals.length)) };
  }

  #takeResult(key: Buffer, quarry: Quarry): boolean {
    const { accounts } = this.#holdings.holderOf(key);
    return accounts.length === 0 || quarry.take(accounts, this.#index.resultBytes(key));
  }

  async #evictBlobs(
    rows: readonly Age[],
    wantedBytes: number,
    quarry: Quarry,
  ): Promise<EvictionStep | undefined | 'kept'> {
    if (rows.length === 0) return undefined;
    let bytes = 0;
    const removals: Promise<number>[] = [];
    for (const row of rows) {
      if (bytes >= wantedBytes) break;
      const evicted = this.#evictBlob(row, quarry);
      if (!evicted) continue;
      bytes += evicted.takes;
      removals.push(evicted.removal);
    }
    if (removals.length === 0) return 'kept';
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

  /**
   * `takes`: the bytes of the content and its index rows. `removal` resolves to the freed content bytes. Undefined
   * if a floor keeps the blob.
   */
  #evictBlob(age: Age, quarry: Quarry): { takes: number; removal: Promise<number> } | undefined {
    const { tick, key } = age;
    const entry = this.#index.findByKey(key);
    if (entry?.tick !== tick) {
      const moved = this.#moveAgeRow(BLOB_AGE, age, entry?.tick ?? 0);
      return { takes: 0, removal: moved.then(() => 0) };
    }
    const { accounts } = this.#holdings;
    // The quarry may be smaller than it was when the row was found.
    if (!quarry.includesBlobOf(accounts.holdersIn(entry.tenants))) return undefined;
    const isGivenUp = (holder: Holder) => quarry.includes(holder);
    const isHeldByOthers = !accounts.isEmpty && !accounts.holdersIn(entry.tenants).every(isGivenUp);
    const rest = isHeldByOthers ? accounts.listWithout(entry.tenants, isGivenUp) : NO_TENANTS;
    const remaining = isHeldByOthers ? this.#holdings.accountsOf(rest) : [];
    const losing = this.#holdings.accountsOf(entry.tenants).filter((account) => !remaining.includes(account));
    if (!quarry.take(losing, heldBytes(entry))) return undefined;
    if (isHeldByOthers) {
      const givenUp = this.#index.changeTenants(key, entry, rest);
      return { takes: heldBytes(entry), removal: givenUp.then(() => 0) };
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

function upToTick(rows: readonly Age[], last: number): Age[] {
  return rows.filter(({ tick }) => tick <= last);
}
