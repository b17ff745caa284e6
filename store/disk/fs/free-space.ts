// Whether there is room on the disk for what is about to be written to the index. LMDB must not be the one to find out:
// a failed write may end the process (docs/decisions/0091).
//
// Asking costs a few microseconds, so an answer holds for a moment, and for as much as it leaves between what is free
// and what is kept in reserve. Others write to the same disk meanwhile: this makes the fault rare, not impossible.
import { statfsSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

export class FreeSpace {
  readonly #free: () => number;
  readonly #now: () => number;
  #leftBytes = 0;
  #until = 0;
  /** What has its place but may not be on the disk yet. */
  #reservedBytes = 0;

  /** `free`: the bytes that are left on the disk. */
  constructor(free: () => number, now: () => number = performance.now.bind(performance)) {
    this.#free = free;
    this.#now = now;
  }

  /** Refuses what would not fit. */
  async withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    const needed = bytes + STORE.commitBytes;
    this.#reserve(needed);
    this.#reservedBytes += needed;
    try {
      return await write();
    } finally {
      this.#reservedBytes -= needed;
    }
  }

  #reserve(needed: number): void {
    if (needed > this.#leftBytes || this.#now() > this.#until) this.#measure(needed);
    if (needed > this.#leftBytes) {
      throw new AssayError('ASSAY_DISK_FULL', 'too little is left on the disk to write the index');
    }
    this.#leftBytes -= needed;
  }

  #measure(needed: number): void {
    const free = this.#free() - STORE.minFreeBytes - this.#reservedBytes;
    this.#leftBytes = Math.min(free, Math.max(STORE.freeSpaceBytes, needed));
    this.#until = this.#now() + STORE.freeSpaceMs;
  }
}

/** For those who are not root. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
