// The memory engine: everything in the memory of this process.
// It has the guarantees of the disk engine, except that nothing survives the process.
import { type Digest, digestOf, type Hash } from '../../../../core/digest.ts';
import { type Namespace, tenantIn } from '../../../../core/namespace.ts';
import { collect, refuseMismatch } from '../../../../store/shared/expected.ts';
import type {
  Blobs,
  Engine,
  LabelAddress,
  Labelled,
  LabelRecords,
  ResultAddress,
  ResultRecords,
  StoredResult,
} from '../../../../store/store.ts';
import { memoryHistory } from './history.ts';
import { MemoryLeases } from './leases.ts';
import { type KeptUploads, memoryUploads } from './uploads.ts';

export interface KeptBlob {
  readonly bytes: Buffer;
  readonly tenants: Set<string>;
}

/** `kept`: for tests, which lose blobs. */
export function memoryEngine(kept: Map<Hash, KeptBlob> = new Map(), now = Date.now): Engine {
  const leases = new MemoryLeases(now);
  const uploads: KeptUploads = new Map();
  const partsOf = (tenant?: string) => {
    const blobs = memoryBlobs(kept, tenant);
    return { blobs, uploads: memoryUploads(uploads, blobs, tenant) };
  };
  return {
    ...partsOf(),
    tenant: (namespace) => partsOf(tenantIn(namespace)),
    records: memoryRecords(),
    labels: memoryLabels(leases),
    leases,
    history: memoryHistory(),
    close: async () => {},
  };
}

function memoryBlobs(kept: Map<Hash, KeptBlob>, tenant: string | undefined): Blobs {
  function find(hash: Hash): Buffer | undefined {
    const found = kept.get(hash);
    return tenant === undefined || found?.tenants.has(tenant) ? found?.bytes : undefined;
  }
  return {
    async get(hash) {
      const bytes = find(hash);
      return bytes && { size: bytes.byteLength, bytes };
    },
    async put(expected, content) {
      const bytes = await collect(expected, content);
      const digest = digestOf(bytes);
      refuseMismatch(expected, digest);
      const blob = kept.get(digest.hash) ?? { bytes, tenants: new Set() };
      if (tenant !== undefined) blob.tenants.add(tenant);
      kept.set(digest.hash, blob);
      return digest;
    },
    async missing(digests) {
      return digests.filter((digest: Digest) => find(digest.hash)?.byteLength !== digest.size);
    },
    async touch() {},
  };
}

function memoryRecords(): ResultRecords {
  const kept = new Map<string, { readonly address: ResultAddress; readonly result: StoredResult }>();
  const nameOf = ({ namespace, key }: ResultAddress) => `${namespace}\0${key}`;
  return {
    async get(address) {
      return kept.get(nameOf(address))?.result;
    },
    async markUsed() {},
    async put(address, result, replacing) {
      if (kept.get(nameOf(address))?.result !== replacing) return false;
      kept.set(nameOf(address), { address, result });
      return true;
    },
    async after(position) {
      return { records: position === undefined ? [...kept.values()] : [], position: undefined };
    },
    async remove(address, seen) {
      return kept.get(nameOf(address))?.result === seen && kept.delete(nameOf(address));
    },
  };
}

/** A Map iterates in the order of insertion. */
function memoryLabels(leases: MemoryLeases): LabelRecords {
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
    async namespaces() {
      return [...new Set([...kept.keys()].map((name) => name.slice(0, name.indexOf('\0')) as Namespace))];
    },
    async put(address, key, replacing, lease) {
      const name = nameOf(address);
      if (kept.get(name)?.key !== replacing?.key || !leases.isUnchanged(lease)) return false;
      kept.delete(name);
      kept.set(name, { label: address.label, key });
      return true;
    },
    async remove(address, key) {
      return kept.get(nameOf(address))?.key === key && kept.delete(nameOf(address));
    },
  };
}
