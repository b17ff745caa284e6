// Checks that the index file at the path is still the file that was opened (I7 of index.ts). If the store's
// folder was removed or replaced, writes would go to a deleted file, and a cleanup would hit another store.
// So the process stops writing.
import { statSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

export class SameFileCheck {
  readonly #path: string;
  readonly #isSame: () => boolean;
  #until = 0;

  /** While the file is open, no other file can get its inode number. */
  constructor(path: string) {
    const { dev, ino } = statSync(path);
    this.#path = path;
    this.#isSame = () => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found?.ino === ino && found.dev === dev;
    };
  }

  get isSame(): boolean {
    return this.#isSame();
  }

  /** A stat costs a few microseconds, so one answer is used for STORE.sameFileMs. */
  check(now = performance.now()): void {
    if (now < this.#until) return;
    if (!this.#isSame()) {
      throw new AssayError(
        'ASSAY_STORE_FAULT',
        `${this.#path} was removed or replaced while it was in use; restart the process to write again`,
      );
    }
    this.#until = now + STORE.sameFileMs;
  }
}
