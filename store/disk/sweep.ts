// Removes what killed processes left behind: staging files, and files that were placed but never got into the index.
//
// It costs an opening nothing: a shard is looked through after a large blob was put into it, at most once in
// STORE.abandonedUploadMs by each process, so the shards that grow are the ones that are swept. Only what is older than
// that is removed, so no upload in progress is hit.
import { join } from 'node:path';
import type { Hash } from '../../core/digest.ts';
import { STORE } from '../../core/limits.ts';
import type { OnStoreEvent } from '../events.ts';
import { listFolder, removeFile, stat } from './calls.ts';
import type { Index } from './index.ts';
import { type Layout, parseFileName, shardOf } from './layout.ts';

export class Sweeper {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #now: () => number;
  readonly #onEvent: OnStoreEvent;
  readonly #sweptAt = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();

  constructor(layout: Layout, index: Index, now: () => number, onEvent: OnStoreEvent) {
    this.#layout = layout;
    this.#index = index;
    this.#now = now;
    this.#onEvent = onEvent;
  }

  /** Returns at once; `idle` resolves when nothing is left to do. */
  afterPut(hash: Hash): void {
    this.#schedule(this.#layout.staging, () => true);
    this.#schedule(join(this.#layout.files, shardOf(hash)), (name) => !this.#isIndexed(name));
  }

  idle(): Promise<void> {
    return this.#running;
  }

  #schedule(folder: string, isStray: (name: string) => boolean): void {
    const last = this.#sweptAt.get(folder) ?? Number.NEGATIVE_INFINITY;
    if (this.#now() - last < STORE.abandonedUploadMs) return;
    this.#sweptAt.set(folder, this.#now());
    this.#running = this.#running.then(() => this.#sweep(folder, isStray));
  }

  #isIndexed(name: string): boolean {
    const file = parseFileName(name);
    return file !== undefined && this.#index.find(file.hash)?.generation === file.generation;
  }

  async #sweep(folder: string, isStray: (name: string) => boolean): Promise<void> {
    let files = 0;
    let bytes = 0;
    try {
      for (const name of (await listFolder(folder)).filter(isStray)) {
        const removed = await this.#removeIfOld(join(folder, name));
        files += removed === undefined ? 0 : 1;
        bytes += removed ?? 0;
      }
    } catch {
      // Another process sweeps too, or the disk is ill: whoever needs that file will say so.
    }
    if (files > 0) this.#onEvent({ type: 'swept', files, bytes });
  }

  /** The size of what was removed. */
  async #removeIfOld(path: string): Promise<number | undefined> {
    const { mtimeMs, size } = await stat(path);
    if (this.#now() - mtimeMs < STORE.abandonedUploadMs) return undefined;
    await removeFile(path);
    return size;
  }
}
