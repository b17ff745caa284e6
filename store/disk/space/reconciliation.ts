// Compares the index with the folder, a shard at a time, and mends what killed processes and ill disks left: files that
// nothing refers to, entries without a file, and entries of a store of version 1, which nothing counts yet. None of it
// is needed before a store can be used, so nothing waits for it.
//
// A file that nothing refers to may be one that is about to be. It is written down when it is first seen, and removed when
// it is seen again after all leases of that time have ended: no clock that can be set has a say in it.

import { join } from 'node:path';
import { getLastVersion } from 'lmdb';
import { type Hash, parseHash } from '../../../core/digest.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { DiskBlobs } from '../files/blobs.ts';
import { listFolder, orIfGone, removeFile, stat } from '../fs/calls.ts';
import { filePath, type Layout, parseFileName } from '../fs/layout.ts';
import { type Index, isCounted } from '../index/index.ts';
import type { Leases } from '../index/leases.ts';
import { decodePresence } from '../index/records.ts';
import { peek, type Row, rowsFrom, type TableName } from '../index/tables.ts';

const SHARDS = 256;
const FIRST = Buffer.alloc(1);

export interface Reconciled {
  /** Files without an entry; those that were seen before are removed. */
  strays: number;
  removed: number;
  /** Entries without a file; they are misses from now on. */
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

  /** `rest` is awaited after each piece of work; it ends the whole by throwing. */
  async run(pause: (tookMs: number) => Promise<void>): Promise<Reconciled> {
    const found: Reconciled = { strays: 0, removed: 0, lost: 0 };
    for (let shard = 0; shard < SHARDS; shard++) {
      const began = performance.now();
      await this.#shard(shard, found);
      await pause(performance.now() - began);
    }
    for await (const rows of this.#pages('results', FIRST, undefined)) {
      const began = performance.now();
      await this.#countResults(rows);
      await pause(performance.now() - began);
    }
    if (found.strays + found.lost > 0) this.#onEvent({ type: 'reconciled', ...found });
    return found;
  }

  async #shard(shard: number, found: Reconciled): Promise<void> {
    const end = shard + 1 < SHARDS ? Buffer.from([shard + 1]) : undefined;
    const files: [Hash, number][] = [];
    for await (const rows of this.#pages('presence', Buffer.from([shard]), end)) {
      await this.#countBlobs(rows);
      for (const { key, value, version = 0 } of rows) {
        const { isFile, generation } = decodePresence(value, version);
        if (isFile) files.push([parseHash(key.toString('hex')), generation]);
      }
    }
    // Listed after the index was read: what it has had a file by then.
    const folder = join(this.#layout.files, shard.toString(16).padStart(2, '0'));
    const names = new Set(await orIfGone(listFolder(folder), []));
    for (const [hash, generation] of files) {
      const path = filePath(this.#layout, hash, generation);
      if (!names.delete(path.slice(folder.length + 1)))
        found.lost += await this.#dropIfLost(hash, generation);
    }
    for (const name of names) await this.#handleStray(join(folder, name), name, found);
  }

  async *#pages(table: TableName, start: Buffer, end: Buffer | undefined): AsyncGenerator<Row[]> {
    this.#index.refresh();
    let rows = rowsFrom(this.#index.tables.table(table), start, end);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      yield rows;
      this.#index.refresh();
      rows = rowsFrom(this.#index.tables.table(table), last.key, end, true);
    }
  }

  /** As used now: of when version 1 used them, nothing is known. */
  async #countBlobs(rows: readonly Row[]): Promise<void> {
    const uncounted = rows.filter(({ value, version = 0 }) => !isCounted(decodePresence(value, version)));
    await this.#leases.renew(uncounted.map(({ key }) => parseHash(key.toString('hex'))));
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

/** Below every tick that a blob has, as a result's must be. */
const FIRST_TICK = 1;
