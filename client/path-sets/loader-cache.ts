// The answers of the dynamic loader's cache, /etc/ld.so.cache, as states of a path set.
// Two caches that have the same files for a library give the same state for it, whatever else is installed.
//
// The file is parsed once for each change, in each process. If it cannot be understood, there are no answers:
// then it counts by its content (gather.ts).
import { lstatSync, readFileSync } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { type AbsPath, absPath } from '../../system/paths/absolute-path.ts';
import { isSettled } from '../files/settled.ts';
import { rowOf, type StatRow, sameRow } from '../files/stat-table.ts';
import { OBSERVED } from '../limits.ts';
import { type LoaderEntry, loaderEntries } from './loader-cache-format.ts';

export const LOADER_CACHE_FILE: AbsPath = absPath('/etc/ld.so.cache');

/**
 * Stands for all libraries whose file has another name. The loader may search for such a name and leave only
 * the name of the file in the trace, so this fact goes with every other one about the cache.
 */
export const RENAMED = '*';

export class LoaderCache {
  readonly #entries = new Map<string, LoaderEntry[]>();
  readonly #hashes = new Map<string, string>();

  constructor(entries: readonly LoaderEntry[]) {
    for (const entry of entries) {
      this.#add(entry.name, entry);
      if (!entry.path.endsWith(`/${entry.name}`)) this.#add(RENAMED, entry);
    }
  }

  /**
   * "absent", or "value HASH" of the library's files in the cache's order. If some of them are for certain
   * processors only, the state contains the state of the processor.
   */
  state(name: string, processor: () => string): string {
    const entries = this.#entries.get(name);
    if (!entries) return 'absent';
    const hash = this.#hashes.get(name) ?? hashOf(entries);
    this.#hashes.set(name, hash);
    const isForAll = entries.every(({ features }) => features === '');
    return `value ${isForAll ? hash : hashOf([hash, processor()])}`;
  }

  #add(name: string, entry: LoaderEntry): void {
    const known = this.#entries.get(name);
    if (known) known.push(entry);
    else this.#entries.set(name, [entry]);
  }
}

/** The cache of this machine; undefined if there is none, or none that can be read and understood. */
export function loaderCache(): LoaderCache | undefined {
  const now = Date.now();
  try {
    const stats = lstatSync(LOADER_CACHE_FILE);
    if (!stats.isFile() || stats.size > OBSERVED.loaderCacheBytes) return undefined;
    const row = rowOf(stats);
    if (last && sameRow(last.row, row)) return last.cache;
    const entries = loaderEntries(readFileSync(LOADER_CACHE_FILE));
    const cache = entries && new LoaderCache(entries);
    last = isSettled(stats, now) ? { row, cache } : undefined;
    return cache;
  } catch {
    return undefined;
  }
}

let last: { readonly row: StatRow; readonly cache: LoaderCache | undefined } | undefined;

function hashOf(value: unknown): string {
  return digestOf(Buffer.from(JSON.stringify(value))).hash;
}
