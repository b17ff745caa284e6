// The index's file as it was when it was opened. Who removes a store's folder, or puts another one in its place, leaves the
// processes that use it with a file that nobody will find again: what they wrote there would be lost, and what they tidied
// up would be another store's. So they write nothing more.
import { statSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

export class SameFileCheck {
  readonly #path: string;
  readonly #isSame: () => boolean;
  #until = 0;

  /** While it is open no other file can get its number. */
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

  /** Looking costs a few microseconds, so an answer holds for a moment. */
  check(now = performance.now()): void {
    if (now < this.#until) return;
    if (!this.#isSame()) {
      throw new AssayError(
        'ASSAY_STORE_FAULT',
        `${this.#path} was removed or replaced while it was in use; nothing is written until a new start`,
      );
    }
    this.#until = now + STORE.sameFileMs;
  }
}
