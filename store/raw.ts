// What an engine gives before anybody has checked it: the bytes, and what they can be checked against. Only verify.ts
// reads these.
import type { Hash } from '../core/digest.ts';
import type { Blobs } from './store.ts';

export type RawBlob = RawSmallBlob | RawLargeBlob | RawBrokenBlob;

interface RawBase {
  /** Another one each time the blob is stored anew. */
  readonly generation: number;
  readonly size: number;
}

export interface RawSmallBlob extends RawBase {
  readonly kind: 'small';
  readonly bytes: Buffer;
  /** Undefined where there is none: then the blob's own hash must do. */
  readonly checksum: bigint | undefined;
}

export interface RawLargeBlob extends RawBase {
  readonly kind: 'large';
  /** One for each chunk of STORE.chunkBytes. */
  readonly checksums: readonly bigint[];
  /** Undefined when its file is gone. */
  open(): Promise<RawFile | undefined>;
}

/** Known not to be whole without reading it. */
export interface RawBrokenBlob extends RawBase {
  readonly kind: 'broken';
  readonly detail: string;
}

export interface RawFile {
  /** Fills the buffer from there; fewer bytes than fit in only at the end of the file. */
  read(buffer: Buffer, position: number): Promise<number>;
  close(): Promise<void>;
}

export interface RawBlobs extends Omit<Blobs, 'get'> {
  get(hash: Hash): Promise<RawBlob | undefined>;
  /** Takes that generation out of the index and keeps its bytes aside; does nothing if it is gone already. */
  quarantine(hash: Hash, generation: number, detail: string): Promise<void>;
}
