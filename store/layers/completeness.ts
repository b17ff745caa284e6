// The completeness layer: every blob that a result names is stored when the result is put, and whenever it is
// served.
//
// The outermost layer of results: it turns a client's bytes into a result with references. `put` collects the
// files of Trees and of Directory messages, so that `get` asks only the index and reads no blob.
import { type Digest, DigestSet, type Hash, parseDigest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { decodeStrict } from '../../core/message.ts';
import { Directory } from '../../core/proto/generated/reapi.ts';
import { DIRECTORY } from '../../core/proto/shapes.ts';
import { decodeResult, referencedContent, verifyInlineContents } from '../../core/result.ts';
import { filesInTree } from '../../core/tree.ts';
import type { OnStoreEvent } from '../events.ts';
import { STORE } from '../limits.ts';
import { Semaphore } from '../shared/semaphore.ts';
import type { Blobs, LargeBlob, Results, StoredResult, Writer } from '../store.ts';
import type { DivergingResults } from './divergence.ts';
import { readFileReferences } from './result-references.ts';

export function checkingCompleteness(
  results: DivergingResults,
  blobs: Blobs,
  onEvent: OnStoreEvent,
): Results {
  return {
    async get(address, inSameView) {
      const result = await results.get(address, inSameView);
      if (!result) return undefined;
      const missing = await blobs.missing(result.references);
      if (missing.length > 0) {
        onEvent({ type: 'incomplete', address, missing: missing.map(({ hash, size }) => ({ hash, size })) });
        return undefined;
      }
      await results.use(address, result);
      return result;
    },

    async put(address, bytes, options) {
      return results.put(address, await completeResult(bytes, blobs, options?.writer), options);
    },

    async update(address, change, writer) {
      let isDone = false;
      while (!isDone) {
        const current = await results.get(address);
        const bytes = change(current?.bytes);
        if (!bytes) return;
        isDone = await results.replace(address, await completeResult(bytes, blobs, writer), current);
      }
    },
  };
}

/** Throws ASSAY_RESULT_INCOMPLETE if a blob that it names is missing. */
async function completeResult(
  bytes: Uint8Array,
  blobs: Blobs,
  writer: Writer | undefined,
): Promise<StoredResult> {
  const references = await gatherReferences(bytes, blobs);
  refuseIfMissing(await blobs.missing(references));
  return { bytes: Buffer.from(bytes), references, writer };
}

async function gatherReferences(bytes: Uint8Array, blobs: Blobs): Promise<readonly Digest[]> {
  const files = readFileReferences(bytes);
  if (files) return files;
  const result = decodeResult(bytes);
  verifyInlineContents(result);
  const named = referencedContent(result);
  const references = new DigestSet();
  for (const digest of named.blobs) references.add(digest);
  for (const tree of named.trees) {
    for (const leaf of await decodeBlob(tree, blobs, filesInTree)) references.add(leaf);
  }
  await addDescendants(named.directories, blobs, references);
  return references.values();
}

/** Reads a directory once, even if several paths lead to it. */
async function addDescendants(roots: readonly Digest[], blobs: Blobs, references: DigestSet): Promise<void> {
  const visited = new Set<Hash>();
  const pending = [...roots];
  for (let folder = pending.pop(); folder; folder = pending.pop()) {
    references.add(folder);
    if (visited.has(folder.hash)) continue;
    visited.add(folder.hash);
    const { files, directories } = await decodeBlob(folder, blobs, decodeDirectory);
    for (const { digest, name } of files) references.add(parseDigest(digest ?? missingDigest(name)));
    for (const { digest, name } of directories) pending.push(parseDigest(digest ?? missingDigest(name)));
  }
}

const largeTrees = new Semaphore({
  permits: STORE.concurrentTrees,
  maxWaiting: STORE.openFilesWaiting,
  waitMs: STORE.openFilesWaitMs,
});

/** Limits memory: clients put many results at once, and each may name a Tree of the largest size. */
function decodeBlob<T>(digest: Digest, blobs: Blobs, decode: (bytes: Buffer) => T): Promise<T> {
  const read = async () => decode(await readWhole(digest, blobs));
  return digest.size > STORE.inlineBytes ? largeTrees.run(read) : read();
}

async function readWhole(digest: Digest, blobs: Blobs): Promise<Buffer> {
  if (digest.size > STORE.maxTreeBytes) {
    throw new AssayError(
      'ASSAY_RESULT_MALFORMED',
      `${digest.hash} is too large for a Tree: ${digest.size} bytes`,
    );
  }
  const blob = await blobs.get(digest.hash);
  if (blob?.size !== digest.size) throw incomplete([digest]);
  return blob.bytes ?? collectChunks(blob, digest);
}

/** A corrupt blob was quarantined by the read, so it is missing now and can be sent again. */
async function collectChunks(blob: LargeBlob, digest: Digest): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(blob.size);
  let filled = 0;
  try {
    for await (const chunk of blob.chunks()) filled += chunk.copy(whole, filled);
  } catch (error) {
    const isCorrupt = error instanceof AssayError && error.code === 'ASSAY_BLOB_CORRUPT';
    throw isCorrupt ? incomplete([digest]) : error;
  }
  return whole;
}

function decodeDirectory(bytes: Uint8Array): Directory {
  return decodeStrict(Directory, DIRECTORY, bytes, 'a blob that a result names as a Directory is not one');
}

function missingDigest(name: string): never {
  throw new AssayError('ASSAY_RESULT_MALFORMED', `${JSON.stringify(name)} in a Directory has no digest`);
}

function refuseIfMissing(missing: readonly Digest[]): void {
  if (missing.length > 0) throw incomplete(missing);
}

const MAX_NAMED = 3;

function incomplete(missing: readonly Digest[]): AssayError {
  const named = missing.slice(0, MAX_NAMED).map(({ hash, size }) => `${hash} (${size} bytes)`);
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : '';
  return new AssayError('ASSAY_RESULT_INCOMPLETE', `missing: ${named.join(', ')}${more}`);
}
