// The entries of Vite+: what a task read (the value) and what it wrote (the blob), under the key of the task. A second key
// leads to the newest entry of the task, from which `vp` says why a task is not cached.
// Guarantees: value and blob are outputs of one result, so they are served together or not at all. They become visible in one
// write, after both are stored.
//
// The key does not cover the content of the inputs: `vp` itself compares the value with its workspace. So a new entry
// replaces the old one, as the protocol says, and that is no divergence.
import { type Digest, parseDigest, toWire } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import {
  artifactAddress,
  decodeArtifact,
  encodeArtifact,
  findArtifact,
} from '../../server/protocols/shared/artifact.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { ResultAddress } from '../../store/store.ts';
import type { Metadata, TaskEntry, TaskKeys } from './messages.ts';

/** The path of the second output of a result. The first is the value. */
const BLOB = 'blob';

interface FoundEntry extends TaskEntry {
  /** Of an entry that only the secondary key led to. */
  readonly key?: Uint8Array;
}

export async function findTaskEntry(
  exchange: Exchange,
  namespace: Namespace,
  { key, secondaryKey }: TaskKeys,
): Promise<FoundEntry | undefined> {
  const address = entryAddress(namespace, key);
  const exact = await readEntry(exchange, address);
  exchange.lookedUp('vite-plus', 'vite-plus', exact !== undefined, address);
  if (exact) return exact;
  const { store } = exchange;
  const newest = await findArtifact(store, taskAddress(namespace, secondaryKey));
  if (!newest) return undefined;
  const other = await readBlob(newest.digest.hash, store.blobs);
  const entry = await readEntry(exchange, entryAddress(namespace, other));
  return entry && { ...entry, key: other };
}

/** `blob` is stored already. */
export async function storeEntry(
  exchange: Exchange,
  namespace: Namespace,
  { key, secondaryKey, value }: Metadata,
  blob: Digest | undefined,
): Promise<void> {
  const { store, server } = exchange;
  const put = async (address: ResultAddress, record: Uint8Array): Promise<void> => {
    await store.results.put(address, record, { replace: true });
  };
  await server.lifecycle.whileWriting(async () => {
    const [ofValue, ofKey] = await Promise.all([stored(exchange, value), stored(exchange, key)]);
    await put(entryAddress(namespace, key), encodeRecord(ofValue, blob));
    await put(taskAddress(namespace, secondaryKey), encodeArtifact({ digest: ofKey, attributes: {} }));
  });
}

function stored({ store }: Exchange, bytes: Uint8Array): Promise<Digest> {
  return store.blobs.put({ size: bytes.length }, Buffer.from(bytes));
}

async function readEntry({ store }: Exchange, address: ResultAddress): Promise<TaskEntry | undefined> {
  const result = await store.results.get(address);
  const artifact = result && decodeArtifact(result.bytes);
  if (!artifact) return undefined;
  const blob = decodeResult(result.bytes).outputFiles.find(({ path }) => path === BLOB)?.digest;
  try {
    const value = await readBlob(artifact.digest.hash, store.blobs);
    return { value, blobId: blob ? parseDigest(blob).hash : null };
  } catch (error) {
    if (error instanceof AssayError && error.entry.status === 404) return undefined;
    throw error;
  }
}

function encodeRecord(value: Digest, blob: Digest | undefined): Uint8Array {
  const base = ActionResult.decode(encodeArtifact({ digest: value, attributes: {} }));
  const outputs = blob
    ? [{ path: BLOB, digest: toWire(blob), isExecutable: false, contents: Buffer.alloc(0) }]
    : [];
  return ActionResult.encode({ ...base, outputFiles: [...base.outputFiles, ...outputs] }).finish();
}

function entryAddress(namespace: Namespace, key: Uint8Array): ResultAddress {
  return artifactAddress('vite-plus', namespace, hex(key));
}

function taskAddress(namespace: Namespace, secondaryKey: Uint8Array): ResultAddress {
  return artifactAddress('vite-plus-tasks', namespace, hex(secondaryKey));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
