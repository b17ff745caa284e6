// The memory engine: everything in the memory of this process. For tests, and for a server that keeps
// nothing.
// It has the guarantees of the disk engine, except that nothing survives the process.
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import { collect, refuseMismatch } from '../shared/expected.ts';
import type {
  Blobs,
  Engine,
  LabelAddress,
  Labelled,
  LabelRecords,
  ResultAddress,
  ResultRecords,
  StoredResult,
} from '../store.ts';
import { memoryUploads } from './uploads.ts';

export function memoryEngine(): Engine {
  const blobs = memoryBlobs();
  return {
    blobs,
    records: memoryRecords(),
    uploads: memoryUploads(blobs),
    labels: memoryLabels(),
    close: async () => {},
  };
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
      refuseMismatch(expected, digest);
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
    async markUsed() {},
    async put(address, result, replacing) {
      if (kept.get(nameOf(address)) !== replacing) return false;
      kept.set(nameOf(address), result);
      return true;
    },
  };
}

/** A Map iterates in the order of insertion. */
function memoryLabels(): LabelRecords {
  const kept = new Map<string, Labelled>();
  const nameOf = ({ namespace, label }: LabelAddress) => `${namespace}\0${label}`;
  return {
    async get(address) {
      return kept.get(nameOf(address));
    },
    async *withPrefix(namespace, prefix) {
      const start = nameOf({ namespace, label: prefix });
      const found = [...kept].filter(([name]) => name.startsWith(start));
      yield* found.map(([, labelled]) => labelled).reverse();
    },
    async put(address, key, replacing) {
      const name = nameOf(address);
      if (kept.get(name)?.key !== replacing?.key) return false;
      kept.delete(name);
      kept.set(name, { label: address.label, key });
      return true;
    },
  };
}
