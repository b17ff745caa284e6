// xxh64 of bytes at rest: cheap enough for every read, and never an address.
//
// Bun has it built in. On Node it is WebAssembly, which takes as long to load as thousands of small blobs to check. So it
// is loaded when the first large blob is met, or once as many small ones have been: most runs meet neither.
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

/** Of a small blob; undefined while it is not worth loading, or is being loaded. */
export function checksumOfSmall(bytes: Uint8Array): bigint | undefined {
  if (loaded) return loaded(bytes);
  smallBytesLeft -= bytes.length;
  if (smallBytesLeft < 0) loadChecksum().catch(() => {});
  return undefined;
}
