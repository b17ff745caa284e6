// Blobs as an engine returns them, before any check: the bytes, and the checksums to check them against.
// Only verify.ts and examine.ts read them.
import type { Hash } from '../core/digest.ts';
import type { Blobs } from './store.ts';

export type RawBlob = RawSmallBlob | RawLargeBlob | RawBrokenBlob;

interface RawBase {
  /** Changes each time the blob is stored again. */
  readonly generation: number;
  readonly size: number;
}

export interface RawSmallBlob extends RawBase {
  readonly kind: 'small';
  readonly bytes: Buffer;
  /** Undefined if none was stored; then the blob is checked by its hash. */
  readonly checksum: bigint | undefined;
}

export interface RawLargeBlob extends RawBase {
  readonly kind: 'large';
  /** One for each chunk of STORE.chunkBytes. */
  readonly checksums: readonly bigint[];
  /** Undefined if the file is missing. */
  open(): Promise<RawFile | undefined>;
}

/** A blob that is damaged, as its record or its file's size shows without reading it. */
interface RawBrokenBlob extends RawBase {
  readonly kind: 'broken';
  readonly detail: string;
}

export interface RawFile {
  /** Fills the buffer from that position. Returns fewer bytes only at the end of the file. */
  read(buffer: Buffer, position: number): Promise<number>;
  close(): Promise<void>;
}

export interface RawBlobs extends Omit<Blobs, 'get'> {
  get(hash: Hash): Promise<RawBlob | undefined>;
  /**
   * Takes that generation out of the index and moves its bytes to the quarantine. No effect if it is gone
   * already.
   */
  quarantine(hash: Hash, generation: number, detail: string): Promise<void>;
}
