// Keeps bytes that failed their check, out of the way of readers, for a person to examine.
// Bounded by count, bytes and a share of the store's limit; the oldest is removed first. No guarantee depends
// on it, so its failures appear only in the event.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { listFolder, orIfGone, removeFile, rename, stat, writeWhole } from '../../../system/files/calls.ts';
import { STORE } from '../../limits.ts';
import { allocatedBytes } from '../index/byte-count.ts';

export class Quarantine {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #limit: () => number;
  #bytes = 0;

  /** `limit`: of the whole store. */
  constructor(folder: string, now: () => number, limit: () => number) {
    this.#folder = folder;
    this.#now = now;
    this.#limit = limit;
  }

  /** Usually 0. What it was before, while the folder can't be read: every write to the store asks for it. */
  bytes(): number {
    try {
      this.#bytes = this.#count();
    } catch {}
    return this.#bytes;
  }

  #count(): number {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    const sizes = names.map(
      (name) => statSync(join(this.#folder, name), { throwIfNoEntry: false })?.size ?? 0,
    );
    return sizes.reduce((sum, size) => sum + allocatedBytes(size), 0);
  }

  keepBytes(name: string, bytes: Buffer): Promise<string> {
    return this.#keep(name, (path) => writeWhole(path, bytes));
  }

  keepFile(name: string, from: string): Promise<string> {
    return this.#keep(name, (path) => rename(from, path));
  }

  /** Resolves to a text that says what became of the bytes. */
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
    const most = Math.min(STORE.quarantineBytes, STORE.quarantineShare * this.#limit());
    const newestFirst = (await listFolder(this.#folder)).sort(byAge);
    let bytes = 0;
    for (const [index, name] of newestFirst.entries()) {
      const path = join(this.#folder, name);
      bytes += (await orIfGone(stat(path), { size: 0 })).size;
      if (index >= STORE.quarantineFiles || bytes > most) await removeFile(path);
    }
  }
}

/** Names begin with the time in milliseconds. */
function byAge(a: string, b: string): number {
  return Number.parseInt(b, 10) - Number.parseInt(a, 10);
}
