// --max-size limits the bytes on the disk, whatever the store held before: the index file never shrinks.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { DiskStore } from '../../../store/open.ts';
import { Random } from '../../rig/random.ts';
import { contentOf, putOne, readFrom } from '../content.ts';
import { useFolders } from '../folders.ts';

const { folder, open } = useFolders();
const LIMIT = 8_000_000;
const LEASE = 1000;
/** LMDB's locks, and the unused part of the last blocks of files. */
const BESIDE = 200_000;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261);

class Used {
  readonly directory = folder();
  readonly #random = new Random(SEED);
  #time = 1000;
  #next = 0;
  store: Promise<DiskStore> = this.#open(LIMIT);
  most = 0;
  refused: string[] = [];

  #open(bytes: number): Promise<DiskStore> {
    const clock = { name: 'boot', now: () => this.#time };
    return open({ directory: this.directory, maxSize: { bytes }, leaseMs: LEASE, clock });
  }

  async reopen(limit: number): Promise<void> {
    await (await this.store).close();
    this.store = this.#open(limit);
  }

  /** Puts blobs of those sizes, a few at a time, and never reads them. */
  async fill(bytes: number, least: number, most: number): Promise<void> {
    const store = await this.store;
    for (let written = 0; written < bytes; ) {
      const some = Array.from({ length: 4 }, () =>
        contentOf(`${this.#next++}`, least + this.#random.below(most - least)),
      );
      await Promise.all(some.map((one) => this.#put(store, one)));
      written += some.reduce((sum, { length }) => sum + length, 0);
      this.most = Math.max(this.most, sizeBelow(this.directory));
      this.#time += 3 * LEASE;
    }
  }

  async #put(store: DiskStore, bytes: Buffer): Promise<void> {
    await putOne(store, bytes).catch((error: unknown) => this.refused.push(String(error)));
  }
}

function sizeBelow(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
}

describe('the bytes on the disk stay within the limit', () => {
  test('S1: when large blobs replace small ones, and small ones large ones', async () => {
    const used = new Used();
    for (let times = 0; times < 2; times++) {
      await used.fill(1.5 * LIMIT, 100, STORE.inlineBytes);
      await used.fill(LIMIT, STORE.inlineBytes + 1, LIMIT / 40);
    }
    expect(used.most).toBeLessThan(LIMIT + BESIDE);
    expect(used.refused).toEqual([]);
    const store = await used.store;
    expect(store.space.used()).toBeGreaterThan(LIMIT / 2);
    expect(store.space.used()).toBeLessThanOrEqual(LIMIT);
  });

  test('S4: and nothing is evicted for a file that does not fit beside the index', async () => {
    const used = new Used();
    await used.fill(LIMIT, 100, STORE.inlineBytes);
    const store = await used.store;
    const kept = contentOf('kept', 1000);
    await putOne(store, kept);
    await used.reopen(LIMIT / 2);
    await used.fill(1, LIMIT / 4, LIMIT / 4 + 1);
    expect(used.refused).toHaveLength(4);
    expect(used.refused[0]).toMatch(
      /ASSAY_STORE_FULL: the index file never shrinks, .* the limit of 4000000/,
    );
    expect((await readFrom(await used.store, digestOf(kept)))?.equals(kept)).toBe(true);
  });
});
