// Removes staging files that killed processes left behind.
//
// It costs an opening nothing: staging is looked through after a large blob was put, at most once in STORE.abandonedUploadMs
// by each process, and only what is older than that is removed. That is by the wall clock: one that steps may hit an upload
// in progress, which then fails before it is acknowledged. Files that have their final name are therefore never touched
// here, but by reconciliation.ts, which asks no clock that can be set.
import { join } from 'node:path';
import { STORE } from '../../core/limits.ts';
import type { OnStoreEvent } from '../events.ts';
import { listFolder, removeFile, stat } from './calls.ts';
import type { Layout } from './layout.ts';

export class Sweeper {
  readonly #layout: Layout;
  readonly #now: () => number;
  readonly #onEvent: OnStoreEvent;
  readonly #sweptAt = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();

  constructor(layout: Layout, now: () => number, onEvent: OnStoreEvent) {
    this.#layout = layout;
    this.#now = now;
    this.#onEvent = onEvent;
  }

  /** Returns at once; `idle` resolves when nothing is left to do. */
  afterPut(): void {
    this.#schedule(this.#layout.staging);
  }

  idle(): Promise<void> {
    return this.#running;
  }

  #schedule(folder: string): void {
    const last = this.#sweptAt.get(folder) ?? Number.NEGATIVE_INFINITY;
    if (this.#now() - last < STORE.abandonedUploadMs) return;
    this.#sweptAt.set(folder, this.#now());
    this.#running = this.#running.then(() => this.#sweep(folder));
  }

  async #sweep(folder: string): Promise<void> {
    let files = 0;
    let bytes = 0;
    try {
      for (const name of await listFolder(folder)) {
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
