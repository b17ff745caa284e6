// Removes staged files that no process will continue: leftovers of killed processes, abandoned uploads and,
// if the store is full, idle staged parts, oldest first.
//
// It never removes a file that this process is writing. A file of another process counts as idle if its mtime
// is older than STORE.idleUploadMs; a server cuts a stalled client long before that. If the wall clock steps,
// an upload in progress may be removed; it fails before it is acknowledged. Files with their final name are
// left to reconciliation.ts, which uses no wall clock.
import { basename, join } from 'node:path';
import { listFolder, orIfGone, stat } from '../../../system/files/calls.ts';
import type { OnStoreEvent } from '../../events.ts';
import { STORE } from '../../limits.ts';
import { type Layout, uploadPath } from '../fs/layout.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import type { UploadRecords, UploadRow } from '../index/upload-records.ts';
import { removeStaged, stagingState } from './staging-file.ts';

/** What was removed from staging, or would be. */
export interface Swept {
  readonly files: number;
  readonly bytes: number;
}

interface StagedFile {
  readonly path: string;
  readonly bytes: number;
  readonly idleMs: number;
  /** Undefined for a leftover, and for a blob that arrives as a whole. */
  readonly upload: UploadRow | undefined;
}

/** Whether a file may be removed. */
type Rule = (file: StagedFile) => boolean;

export class Sweeper {
  readonly #layout: Layout;
  readonly #records: UploadRecords;
  readonly #now: () => number;
  readonly #onEvent: OnStoreEvent;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #running: Promise<unknown> = Promise.resolve();

  constructor(layout: Layout, records: UploadRecords, now: () => number, onEvent: OnStoreEvent) {
    this.#layout = layout;
    this.#records = records;
    this.#now = now;
    this.#onEvent = onEvent;
  }

  /** Starts a sweep if one is due and returns at once; `idle` resolves when it has ended. */
  afterPut(): void {
    if (!this.#isDue(STORE.sweepMs)) return;
    this.#running = this.#running.then(() => this.sweep()).catch(() => {});
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  /**
   * For a full store: abandoned uploads are removed sooner. Runs at most once in STORE.fullSweepMs. Undefined
   * if it removed nothing.
   */
  async sweepWhenFull(): Promise<Swept | undefined> {
    if (!this.#isDue(STORE.fullSweepMs)) return undefined;
    const swept = await this.#sweep(isStale);
    return swept.files > 0 ? swept : undefined;
  }

  /** Removes what no process will continue. */
  sweep(): Promise<Swept> {
    this.#sweptAt = this.#now();
    return this.#sweep(isAbandoned);
  }

  /**
   * Removes idle parts, oldest first, until that many bytes are free. Undefined if there are none. `isWanted`
   * selects uploads.
   */
  async evict(wantedBytes: number, isWanted?: (upload: UploadRow) => boolean): Promise<Swept | undefined> {
    const files = await this.#list();
    const wanted = isWanted ? files.filter(({ upload }) => upload && isWanted(upload)) : files;
    const swept = await this.#remove(oldestUpTo(wanted, isIdle, wantedBytes));
    return swept.files > 0 ? swept : undefined;
  }

  /**
   * Makes space for one more upload: the holder with the most uploads loses idle ones, so a flood ends none of others.
   * False if every upload is being written.
   */
  async makeUploadSlot(): Promise<boolean> {
    await this.sweep();
    if (this.#records.isFull) {
      const idle = Map.groupBy((await this.#list()).filter(isIdle), ({ upload }) => upload?.holder);
      const uploads = Map.groupBy(this.#records.rows(), ({ holder }) => holder);
      const holders = [...uploads.entries()].sort(([, a], [, b]) => b.length - a.length);
      const [losing] = holders.flatMap(([holder]) => (idle.has(holder) ? [holder] : []));
      await this.#remove((idle.get(losing) ?? []).slice(0, STORE.evictEntries));
    }
    return !this.#records.isFull;
  }

  /** What `sweepWhenFull` and then `evict` would remove. */
  async preview(wantedBytes: number): Promise<{ readonly stale: Swept; readonly idleParts: Swept }> {
    const files = await this.#list();
    const stale = files.filter(isStale);
    const idleParts = files.filter((file) => !stale.includes(file));
    return { stale: sumOf(stale), idleParts: sumOf(oldestUpTo(idleParts, isIdle, wantedBytes)) };
  }

  #isDue(pauseMs: number): boolean {
    const isDue = Math.abs(this.#now() - this.#sweptAt) >= pauseMs;
    if (isDue) this.#sweptAt = this.#now();
    return isDue;
  }

  async #sweep(rule: Rule): Promise<Swept> {
    const swept = await this.#remove((await this.#list()).filter(rule));
    await this.#removeLostRecords();
    return swept;
  }

  /** Oldest first, without the files that this process is writing. */
  async #list(): Promise<StagedFile[]> {
    const names = await listFolder(this.#layout.staging);
    const uploads = new Map<string, UploadRow>();
    for (const row of this.#records.rows()) if (!row.isFinished) uploads.set(nameOf(this.#layout, row), row);
    const files: StagedFile[] = [];
    for (const name of names) {
      const path = join(this.#layout.staging, name);
      const stats = stagingState(path) === 'open' ? undefined : await orIfGone(stat(path), undefined);
      if (!stats) continue;
      // A clock that was set back leaves an mtime in the future; it counts as old.
      const idleMs = Math.abs(this.#now() - stats.mtimeMs);
      files.push({ path, bytes: allocatedBytes(stats.size), idleMs, upload: uploads.get(name) });
    }
    return files.sort((a, b) => b.idleMs - a.idleMs);
  }

  async #remove(files: readonly StagedFile[]): Promise<Swept> {
    const removed: StagedFile[] = [];
    for (const file of files) {
      if (stagingState(file.path) === 'open') continue;
      if (file.upload && !(await this.#records.removeRow(file.upload))) continue;
      await removeStaged(file.path);
      removed.push(file);
    }
    const swept = sumOf(removed);
    if (swept.files > 0) this.#onEvent({ type: 'swept', ...swept });
    return swept;
  }

  /** Records without a file, and records of finished uploads, which Assay 0.1 kept. */
  async #removeLostRecords(): Promise<void> {
    const rows = [...this.#records.rows()];
    // List the folder after reading the index: a file exists before its record does.
    const names = new Set(await listFolder(this.#layout.staging));
    const lost = rows.filter((row) => row.isFinished || !names.has(nameOf(this.#layout, row)));
    await Promise.all(lost.map((row) => this.#records.removeRow(row)));
  }
}

function nameOf(layout: Layout, { generation }: UploadRow): string {
  return basename(uploadPath(layout, generation));
}

const isAbandoned: Rule = ({ upload, idleMs }) =>
  idleMs >= (upload ? STORE.abandonedUploadMs : STORE.idleUploadMs);

const isStale: Rule = ({ upload, idleMs }) => idleMs >= (upload ? STORE.staleUploadMs : STORE.idleUploadMs);

const isIdle: Rule = ({ path, idleMs }) => stagingState(path) === 'idle' || idleMs >= STORE.idleUploadMs;

function oldestUpTo(files: readonly StagedFile[], rule: Rule, wantedBytes: number): StagedFile[] {
  const chosen: StagedFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (bytes >= wantedBytes) break;
    if (!rule(file)) continue;
    chosen.push(file);
    bytes += file.bytes;
  }
  return chosen;
}

function sumOf(files: readonly StagedFile[]): Swept {
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}
