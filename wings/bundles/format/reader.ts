// Reads a bundle from its first byte to its last, in order, from a file or a pipe.
// Guarantees:
// - It reads nothing of a bundle of another format, and nothing that is larger than its head announced.
// - It refuses a bundle unless every header, size and place is what it must be. The caller verifies the bytes of slices: the
//   manifest by the digest in the head, each blob by its digest in the manifest.
// - Memory: one slice, and 16 bytes for the place of each.
import { freeBuffers } from '../../../core/bun.ts';
import { AssayError } from '../../../core/errors.ts';
import { BUNDLE } from '../limits.ts';
import {
  decodeHead,
  END,
  encodeEnd,
  encodeIndex,
  FREE_EVERY,
  HEAD,
  type Head,
  INDEX_FILE,
  MAX_FRAME_BYTES,
  MAX_HEAD_BYTES,
  type SlicePlace,
  type Stream,
  sliceName,
  sliceSize,
  slicesOf,
} from './layout.ts';
import type { Source } from './source.ts';
import { BLOCK, damaged, END_OF_TAR, paddingOf, sizeInHeader } from './tar.ts';
import { decompressSlice } from './zstd.ts';

export class BundleReader {
  readonly head: Head;
  readonly #source: Source;
  readonly #places: Readonly<Record<Stream, SlicePlace[]>> = { manifest: [], content: [] };

  private constructor(source: Source, head: Head) {
    this.#source = source;
    this.head = head;
  }

  static async open(source: Source): Promise<BundleReader> {
    const size = sizeInHeader(await source.read(BLOCK), HEAD, MAX_HEAD_BYTES);
    const head = decodeHead(await source.read(size));
    if (head.manifestBytes > BUNDLE.maxManifestBytes)
      throw new AssayError('ASSAY_BUNDLE_TOO_LARGE', `its manifest would have ${head.manifestBytes} bytes`);
    await readPadding(source, size);
    return new BundleReader(source, head);
  }

  async *manifest(): AsyncGenerator<Buffer> {
    for await (const slice of this.#slices('manifest', this.head.manifestBytes, () => true))
      if (slice) yield slice;
  }

  /** Undefined for a slice that is not wanted. */
  content(isWanted: (number: number) => boolean): AsyncGenerator<Buffer | undefined> {
    return this.#slices('content', this.head.contentBytes, isWanted);
  }

  /** Reads the index, which must have the place of every slice, and the end, which nothing follows. */
  async finish(): Promise<void> {
    const index = encodeIndex(this.#places);
    const at = await this.#begin(INDEX_FILE, index.length + MAX_FRAME_BYTES);
    const written = await decompressSlice(await this.#body(at.size), index.length, INDEX_FILE);
    if (!written.equals(index)) throw damaged('the index does not say where the slices are');
    const end = encodeEnd([at.offset, at.size]);
    const { size } = await this.#begin(END, BLOCK);
    if (!(await this.#body(size)).equals(end)) throw damaged('the end does not say where the index is');
    if (!(await this.#source.read(END_OF_TAR.length)).equals(END_OF_TAR) || !(await this.#source.isAtEnd()))
      throw damaged('something follows the end of the bundle');
  }

  async *#slices(
    stream: Stream,
    bytes: number,
    isWanted: (number: number) => boolean,
  ): AsyncGenerator<Buffer | undefined> {
    for (let number = 0; number < slicesOf(bytes); number++) {
      const name = sliceName(stream, number);
      const { offset, size } = await this.#begin(name, MAX_FRAME_BYTES);
      this.#places[stream].push([offset, size]);
      if (number % FREE_EVERY === FREE_EVERY - 1) freeBuffers();
      if (isWanted(number)) {
        yield await decompressSlice(await this.#body(size), sliceSize(bytes, number), name);
      } else {
        await this.#source.skip(size + paddingOf(size));
        yield undefined;
      }
    }
  }

  async #begin(name: string, most: number): Promise<{ readonly offset: number; readonly size: number }> {
    const size = sizeInHeader(await this.#source.read(BLOCK), name, most);
    return { offset: this.#source.position, size };
  }

  async #body(size: number): Promise<Buffer> {
    const body = await this.#source.read(size);
    await readPadding(this.#source, size);
    return body;
  }
}

async function readPadding(source: Source, size: number): Promise<void> {
  const padding = await source.read(paddingOf(size));
  if (padding.some((byte) => byte !== 0)) throw damaged('something lies between two files of the bundle');
}
