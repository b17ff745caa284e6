// The engine that keeps everything in this process: for tests, and for a server that shall forget. It promises what
// the disk engine does, except to survive the process.
import { type Digest, digestOf, type Hash } from '../core/digest.ts';
import { collect, refuseWrong } from './expected.ts';
import type { Blobs, ResultAddress, ResultRecords, StoredResult } from './store.ts';

export interface MemoryEngine {
  readonly blobs: Blobs;
  readonly records: ResultRecords;
}

export function memoryEngine(): MemoryEngine {
  return { blobs: memoryBlobs(), records: memoryRecords() };
}

function memoryBlobs(): Blobs {
  const kept = new Map<Hash, Buffer>();
  return {
    async get(hash) {
      const bytes = kept.get(hash);
      return bytes && { size: bytes.byteLength, bytes };
    },
    async put(expected, content) {
      const bytes = await collect(expected, content);
      const digest = digestOf(bytes);
      refuseWrong(expected, digest);
      kept.set(digest.hash, bytes);
      return digest;
    },
    async missing(digests) {
      return digests.filter((digest: Digest) => kept.get(digest.hash)?.byteLength !== digest.size);
    },
    async touch() {},
  };
}

function memoryRecords(): ResultRecords {
  const kept = new Map<string, StoredResult>();
  const nameOf = ({ namespace, key }: ResultAddress) => `${namespace}\0${key}`;
  return {
    async get(address) {
      return kept.get(nameOf(address));
    },
    async put(address, result, replacing) {
      if (kept.get(nameOf(address)) !== replacing) return false;
      kept.set(nameOf(address), result);
      return true;
    },
  };
}
