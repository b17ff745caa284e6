// xxh64 of a chunk at rest: cheap enough for every read, and never an address. Loaded when the first large blob is met,
// because most runs meet none.
import type { XXHashAPI } from 'xxhash-wasm';

export type Checksum = (bytes: Uint8Array) => bigint;

let loading: Promise<Checksum> | undefined;

export function loadChecksum(): Promise<Checksum> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Checksum> {
  const { default: instantiate } = await import('xxhash-wasm');
  const { h64Raw }: XXHashAPI = await instantiate();
  return (bytes) => h64Raw(bytes);
}
