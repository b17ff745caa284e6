// Reconciles the index with the folder, one shard at a time, after kills and disk faults. It repairs files
// without an entry (strays), entries without a file, and uncounted entries of format version 1. The store
// works without it.
//
// A stray may be a file whose entry is about to be committed. So it is recorded when first seen, and removed
// when it is seen again after all leases of that tick have expired. The wall clock has no effect.

import { join } from 'node:path';
import { getLastVersion } from 'lmdb';
import { type Hash, parseHash } from '../../../core/digest.ts';
import { listFolder, orIfGone, removeFile, stat } from '../../../system/files/calls.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { DiskBlobs } from '../files/blobs.ts';
import { filePath, type Layout, parseFileName } from '../fs/layout.ts';
import { type Index, isCounted } from '../index/index.ts';
import type { Leases } from '../index/leases.ts';
import { decodePresence } from '../index/records.ts';
import { peek, type Row, rowsFrom, type TableName } from '../index/tables.ts';

const SHARDS = 256;
const FIRST = Buffer.alloc(1);

type Pause = (tookMs: number) => Promise<void>;

export interface Reconciled {
  /** Files without an entry. A stray that was seen before is removed. */
  strays: number;
  removed: number;
  /** Entries without a file. They are misses from now on. */
  lost: number;
}

export class Reconciliation {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #leases: Leases;
  readonly #blobs: DiskBlobs;
  readonly #onEvent: OnStoreEvent;

  constructor(layout: Layout, index: Index, leases: Leases, blobs: DiskBlobs, onEvent: OnStoreEvent) {
    this.#layout = layout;
    this.#index = index;
    this.#leases = leases;
    this.#blobs = blobs;
    this.#onEvent = onEvent;
  }

  /**
   * `pause` is awaited after each page of rows and each folder, with the time that it took. It stops the run by
   * throwing.
   */
  async run(pause: Pause): Promise<Reconciled> {
    const found: Reconciled = { strays: 0, removed: 0, lost: 0 };
    for (let shard = 0; shard < SHARDS; shard++) await this.#shard(shard, found, pause);
    await this.#eachPage('results', FIRST, undefined, pause, (rows) => this.#countResults(rows));
    if (found.strays + found.lost > 0) this.#onEvent({ type: 'reconciled', ...found });
    return found;
  }

  async #shard(shard: number, found: Reconciled, pause: Pause): Promise<void> {
    const end = shard + 1 < SHARDS ? Buffer.from([shard + 1]) : undefined;
    const files: [Hash, number][] = [];
    await this.#eachPage('presence', Buffer.from([shard]), end, pause, async (rows) => {
      const uncounted: Hash[] = [];
      for (const { key, value, version = 0 } of rows) {
        const record = decodePresence(value, version);
        if (record.isFile) files.push([hashIn(key), record.generation]);
        if (!isCounted(record)) uncounted.push(hashIn(key));
      }
      // Stamps them as used now: version 1 did not record uses.
      if (uncounted.length > 0) await this.#leases.renew(uncounted);
    });
    const began = performance.now();
    // List the folder after reading the index: a file exists before its entry does.
    const folder = join(this.#layout.files, shard.toString(16).padStart(2, '0'));
    const names = new Set(await orIfGone(listFolder(folder), []));
    for (const [hash, generation] of files) {
      const path = filePath(this.#layout, hash, generation);
      if (!names.delete(path.slice(folder.length + 1)))
        found.lost += await this.#dropIfLost(hash, generation);
    }
    for (const name of names) await this.#handleStray(join(folder, name), name, found);
    await pause(performance.now() - began);
  }

  async #eachPage(
    table: TableName,
    start: Buffer,
    end: Buffer | undefined,
    pause: Pause,
    visit: (rows: readonly Row[]) => Promise<void>,
  ): Promise<void> {
    let [from, isLater] = [start, false];
    for (;;) {
      const began = performance.now();
      this.#index.refresh();
      const rows = rowsFrom(this.#index.tables.table(table), from, end, isLater);
      const last = rows.at(-1);
      if (!last) return;
      await visit(rows);
      [from, isLater] = [last.key, true];
      await pause(performance.now() - began);
    }
  }

  async #countResults(rows: readonly Row[]): Promise<void> {
    const uncounted = rows.filter(({ key }) => this.#index.resultTick(key) === 0);
    await Promise.all(
      uncounted.map(({ key, version = 0 }) => this.#index.stampResult(key, version, FIRST_TICK)),
    );
  }

  async #dropIfLost(hash: Hash, generation: number): Promise<number> {
    const exists = await orIfGone(
      stat(filePath(this.#layout, hash, generation)).then(() => true),
      false,
    );
    this.#index.refresh();
    if (exists || this.#index.find(hash)?.generation !== generation) return 0;
    await this.#blobs.quarantine(hash, generation, 'its file is missing');
    return 1;
  }

  async #handleStray(path: string, name: string, found: Reconciled): Promise<void> {
    const file = parseFileName(name);
    this.#index.refresh();
    if (file && this.#index.find(file.hash)?.generation === file.generation) return;
    found.strays++;
    const state = this.#index.tables.table('state');
    const key = Buffer.from(`stray ${name}`);
    const firstSeen = peek(state, key) ? getLastVersion() : undefined;
    if (firstSeen === undefined) {
      const { tick, begin } = this.#leases.clock.stamp();
      await this.#index.tables.commit(() => {
        begin();
        return state.put(key, FIRST, tick);
      });
    } else if (firstSeen <= this.#leases.clock.expired()) {
      await removeFile(path);
      await this.#index.tables.commit(() => state.remove(key));
      found.removed++;
    }
  }
}

function hashIn(key: Buffer): Hash {
  return parseHash(key.toString('hex'));
}

/** A result's tick must not be later than that of its blobs (L4); this is the first tick. */
const FIRST_TICK = 1;
