// Storage for path sets: the local store, or a remote. Each path set is stored as a result with one output
// file. The result names its action, so that `assay forget --key` finds it.
// A path set from a remote passes through the local store, which checks its digest.
import { type Digest, digestOf, type Hash, parseDigest, toWire } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { bundleIn } from '../../core/metadata/bundle.ts';
import { encodeReceipt } from '../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { decodePathSet, encodePathSet, type PathSet } from '../../core/path-set.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../core/result.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store, Writer } from '../../store/store.ts';
import { OBSERVED } from '../limits.ts';
import type { Remote } from '../remote/remote.ts';
import { download } from '../remote/transfer.ts';
import type { Report } from '../terminal/events.ts';

export interface PathSetStorage {
  get(address: Digest): Promise<PathSet | undefined>;
  /**
   * `action`: the key that the set belongs to. At a remote, the blob of the encoded set is stored already. False if
   * another set has this address.
   */
  put(address: Digest, set: PathSet, action: Hash): Promise<boolean>;
}

const NAME = 'path-set';

/** Sets of the local store that came with a bundle. */
const imported = new WeakSet<PathSet>();

/** True for a set that this machine neither made nor checked: it counts as one of a remote. */
export function isImported(set: PathSet): boolean {
  return imported.has(set);
}

/** `writer`: of the sets that are put. */
export function localPathSets(store: Store, writer?: Writer): PathSetStorage {
  const at = ({ hash: key }: Digest) => ({ namespace: DEFAULT_NAMESPACE, key });
  return {
    async get(address) {
      const stored = await store.results.get(at(address));
      if (!stored) return undefined;
      const { hash } = digestIn(stored.bytes, OBSERVED.maxSetBytes);
      const set = decodePathSet(await readBlob(hash, store.blobs));
      if (bundleIn(stored.writer?.via) !== undefined) imported.add(set);
      return set;
    },
    async put(address, set, action) {
      const bytes = encodePathSet(set);
      const digest = digestOf(bytes);
      if ((await store.blobs.missing([digest])).length > 0) await store.blobs.put(digest, bytes);
      return (await store.results.put(at(address), resultWith(digest, action), { writer })) !== 'diverged';
    },
  };
}

export function remotePathSets(remote: Remote, store: Store, report: Report): PathSetStorage {
  return {
    async get(address) {
      const bytes = await remote.getResult(address);
      if (!bytes) return undefined;
      const digest = digestIn(bytes, OBSERVED.maxForeignSetBytes);
      await download([digest], store.blobs, remote, report);
      const set = decodePathSet(await readBlob(digest.hash, store.blobs));
      if (set.length > OBSERVED.maxForeignPaths) throw tooLarge();
      return set;
    },
    async put(address, set, action) {
      await remote.putResult(address, resultWith(digestOf(encodePathSet(set)), action));
      return true;
    },
  };
}

/** A result that names the blob of a path set. */
function resultWith(digest: Digest, action: Hash): Uint8Array {
  const file = { path: NAME, digest: toWire(digest), isExecutable: false, contents: Buffer.alloc(0) };
  const executionMetadata = { worker: '', auxiliaryMetadata: [encodeReceipt(action)] };
  return ActionResult.encode({ ...emptyResult(0), outputFiles: [file], executionMetadata }).finish();
}

function digestIn(bytes: Uint8Array, maxBytes: number): Digest {
  const [file] = decodeResult(bytes).outputFiles;
  if (file?.path !== NAME || !file.digest) throw new AssayError('ASSAY_RESULT_MALFORMED', 'not a path set');
  const digest = parseDigest(file.digest);
  if (digest.size > maxBytes) throw tooLarge();
  return digest;
}

function tooLarge(): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', 'a path set is too large');
}
