// Where bytes go that were found wrong: out of the way of every reader, but there for a person to look at. Bounded, the
// oldest goes first. None of it is needed for any promise, so its failures are told in the event and go no further.
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import { listFolder, orIfGone, removeFile, rename, stat, writeWhole } from './calls.ts';

export class Quarantine {
  readonly #folder: string;
  readonly #now: () => number;

  constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
  }

  keepBytes(name: string, bytes: Buffer): Promise<string> {
    return this.#keep(name, (path) => writeWhole(path, bytes));
  }

  keepFile(name: string, from: string): Promise<string> {
    return this.#keep(name, (path) => rename(from, path));
  }

  /** Says in words what became of the bytes. */
  async #keep(name: string, move: (path: string) => Promise<void>): Promise<string> {
    const kept = `${this.#now()}-${name}`;
    try {
      await move(join(this.#folder, kept));
      await this.#trim();
      return `kept as quarantine/${kept}`;
    } catch (error) {
      return `not kept: ${messageOf(error)}`;
    }
  }

  async #trim(): Promise<void> {
    const newestFirst = (await listFolder(this.#folder)).sort(byAge);
    let bytes = 0;
    for (const [index, name] of newestFirst.entries()) {
      const path = join(this.#folder, name);
      bytes += (await orIfGone(stat(path), { size: 0 })).size;
      if (index >= STORE.quarantineFiles || bytes > STORE.quarantineBytes) await removeFile(path);
    }
  }
}

/** Names begin with the time. */
function byAge(a: string, b: string): number {
  return Number.parseInt(b, 10) - Number.parseInt(a, 10);
}
