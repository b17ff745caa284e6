// The blobs of a bundle: 40 bytes each in one buffer, sorted by hash, each once.
// Guarantee: its memory is bounded by BUNDLE.maxBlobs, however often a blob is added.
import { type Digest, HASH_BYTES, type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { BUNDLE } from '../limits.ts';

const ROW = HASH_BYTES + 8;
const FIRST_ROWS = 1024;

export class BlobTable {
  #bytes: Buffer = Buffer.alloc(FIRST_ROWS * ROW);
  #rows = 0;
  /** How many rows are sorted, and no two of them are equal. */
  #sorted = 0;

  /** The blobs that were added, each counted once after `sort`. */
  get length(): number {
    return this.#rows;
  }

  add({ hash, size }: Digest): void {
    if (this.#rows * ROW === this.#bytes.length) this.#makeRoom();
    const at = this.#rows * ROW;
    this.#bytes.write(hash, at, HASH_BYTES, 'hex');
    this.#bytes.writeDoubleLE(size, at + HASH_BYTES);
    this.#rows++;
  }

  /** Afterwards the rows are in the order of their hashes. */
  sort(): void {
    if (this.#sorted === this.#rows) return;
    const order = new Uint32Array(this.#rows).map((_, row) => row);
    order.sort((a, b) => this.#compare(a, b));
    const sorted = Buffer.allocUnsafe(this.#bytes.length);
    let rows = 0;
    for (const row of order) {
      const isSame =
        rows > 0 &&
        this.#bytes.compare(
          sorted,
          (rows - 1) * ROW,
          (rows - 1) * ROW + HASH_BYTES,
          row * ROW,
          row * ROW + HASH_BYTES,
        ) === 0;
      if (isSame) continue;
      this.#bytes.copy(sorted, rows++ * ROW, row * ROW, (row + 1) * ROW);
    }
    this.#bytes = sorted;
    this.#rows = this.#sorted = rows;
  }

  at(row: number): Digest {
    return { hash: this.#hashAt(row), size: this.sizeAt(row) };
  }

  sizeAt(row: number): number {
    return this.#bytes.readDoubleLE(row * ROW + HASH_BYTES);
  }

  /** In a sorted table. */
  has({ hash, size }: Digest): boolean {
    const row = this.rowOf(hash);
    return row !== undefined && this.sizeAt(row) === size;
  }

  /** In a sorted table. */
  rowOf(hash: Hash): number | undefined {
    const wanted = Buffer.from(hash, 'hex');
    for (let low = 0, high = this.#rows; low < high; ) {
      const middle = (low + high) >>> 1;
      const order = this.#bytes.compare(wanted, 0, HASH_BYTES, middle * ROW, middle * ROW + HASH_BYTES);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** All bytes of all blobs. */
  get totalBytes(): number {
    let total = 0;
    for (let row = 0; row < this.#rows; row++) total += this.sizeAt(row);
    return total;
  }

  *rows(from: number, to: number): Generator<Digest> {
    for (let row = from; row < Math.min(to, this.#rows); row++) yield this.at(row);
  }

  #hashAt(row: number): Hash {
    return parseHash(this.#bytes.toString('hex', row * ROW, row * ROW + HASH_BYTES));
  }

  #compare(a: number, b: number): number {
    return this.#bytes.compare(this.#bytes, b * ROW, b * ROW + HASH_BYTES, a * ROW, a * ROW + HASH_BYTES);
  }

  /** Many results name the same blobs, so sorting often makes room enough. */
  #makeRoom(): void {
    const before = this.#rows;
    this.sort();
    if (this.#rows < before / 2) return;
    if (this.#rows >= BUNDLE.maxBlobs)
      throw new AssayError('ASSAY_BUNDLE_TOO_LARGE', `it would have more than ${BUNDLE.maxBlobs} blobs`);
    const grown = Buffer.alloc(this.#bytes.length * 2);
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}
