// Checks that the disk has space before the index is written: a write that fails inside LMDB may end the
// process (docs/decisions/0091). `withReserved` refuses with ASSAY_DISK_FULL what would not fit.
//
// statfs costs a few microseconds, so one answer is used for STORE.freeSpaceMs and STORE.freeSpaceBytes.
// Other programs write to the same disk, so the fault inside LMDB becomes rare, not impossible.
import { statfsSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

export class FreeSpace {
  readonly #free: () => number;
  readonly #now: () => number;
  #leftBytes = 0;
  #until = 0;
  /** Bytes of writes that are admitted and may not be on the disk yet. */
  #reservedBytes = 0;

  /** `free`: the free bytes on the disk. */
  constructor(free: () => number, now: () => number = performance.now.bind(performance)) {
    this.#free = free;
    this.#now = now;
  }

  /** Runs `write` if that many bytes fit. */
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
      throw new AssayError('ASSAY_DISK_FULL', 'the disk has too little free space to write the index');
    }
    this.#leftBytes -= needed;
  }

  #measure(needed: number): void {
    const free = this.#free() - STORE.minFreeBytes - this.#reservedBytes;
    this.#leftBytes = Math.min(free, Math.max(STORE.freeSpaceBytes, needed));
    this.#until = this.#now() + STORE.freeSpaceMs;
  }
}

/** Free for users other than root. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
