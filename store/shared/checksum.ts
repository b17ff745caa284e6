// xxh64 checksums of stored bytes. They are cheap enough for every read, and are never used as an address.
//
// Bun has xxh64 built in. Node loads it as WebAssembly, which takes as long as the check of thousands of
// small blobs. So it is loaded for the first large blob, or after STORE.bytesBeforeChecksum of small ones.
// Most runs need neither.
import type { XXHashAPI } from 'xxhash-wasm';
import { bun } from '../../core/bun.ts';
import { STORE } from '../limits.ts';

export type Checksum = (bytes: Uint8Array) => bigint;

let loaded: Checksum | undefined = bun?.hash.xxHash64;
let loading: Promise<Checksum> | undefined;
let smallBytesLeft: number = STORE.bytesBeforeChecksum;

export function loadChecksum(): Promise<Checksum> {
  loading ??= loaded ? Promise.resolve(loaded) : load();
  return loading;
}

async function load(): Promise<Checksum> {
  const { default: instantiate } = await import('xxhash-wasm');
  const { h64Raw }: XXHashAPI = await instantiate();
  loaded = (bytes) => h64Raw(bytes);
  return loaded;
}

/** Of a small blob. Undefined until the checksum is loaded; also counts toward loading it. */
export function checksumOfSmall(bytes: Uint8Array): bigint | undefined {
  if (loaded) return loaded(bytes);
  smallBytesLeft -= bytes.length;
  if (smallBytesLeft < 0) loadChecksum().catch(() => {});
  return undefined;
}

const CHECKSUM_BYTES = 8;

/** Of the chunks of a large blob, as an index stores them. */
export function encodeChecksums(checksums: readonly bigint[]): Buffer {
  const record = Buffer.alloc(checksums.length * CHECKSUM_BYTES);
  checksums.forEach((checksum, chunk) => {
    record.writeBigUInt64LE(checksum, chunk * CHECKSUM_BYTES);
  });
  return record;
}

/** Undefined unless there is exactly one for each chunk. */
export function decodeChecksums(record: Buffer, size: number): readonly bigint[] | undefined {
  const count = Math.ceil(size / STORE.chunkBytes);
  if (record.length !== count * CHECKSUM_BYTES) return undefined;
  return Array.from({ length: count }, (_, chunk) => record.readBigUInt64LE(chunk * CHECKSUM_BYTES));
}
