// Which blobs of a table a store lacks.
// Guarantee: the store leases those that it has, because it was asked for them.
import type { Blobs } from '../../../store/store.ts';
import { BUNDLE } from '../limits.ts';
import type { BlobTable } from './blob-table.ts';

export class Lacking {
  readonly blobs: number;
  readonly bytes: number;
  readonly #isLacking: Uint8Array;

  private constructor(isLacking: Uint8Array, bytes: number) {
    this.#isLacking = isLacking;
    this.blobs = isLacking.reduce((sum, one) => sum + one, 0);
    this.bytes = bytes;
  }

  static async of(table: BlobTable, blobs: Blobs): Promise<Lacking> {
    const isLacking = new Uint8Array(table.length);
    let bytes = 0;
    for (let from = 0; from < table.length; from += BUNDLE.askedAtOnce) {
      for (const { hash, size } of await blobs.missing([...table.rows(from, from + BUNDLE.askedAtOnce)])) {
        isLacking[table.rowOf(hash) ?? 0] = 1;
        bytes += size;
      }
    }
    return new Lacking(isLacking, bytes);
  }

  has(row: number): boolean {
    return this.#isLacking[row] === 1;
  }
}

/** Renews the leases of what the store has, when that is due. */
export class LeaseRenewal {
  readonly #table: BlobTable;
  readonly #blobs: Blobs;
  #renewedAt = performance.now();

  constructor(table: BlobTable, blobs: Blobs) {
    this.#table = table;
    this.#blobs = blobs;
  }

  async ifDue(): Promise<void> {
    if (performance.now() - this.#renewedAt < BUNDLE.renewMs) return;
    await Lacking.of(this.#table, this.#blobs);
    this.#renewedAt = performance.now();
  }
}
