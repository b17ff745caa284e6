// Selects the blobs to inline with a result, for a client that asks for them (core/inlined-blobs.ts).
// The client fetches every other blob by itself.
import type { Digest } from '../../../core/digest.ts';
import { INLINED_BLOB_OVERHEAD, type InlinedBlob } from '../../../core/inlined-blobs.ts';
import { decodeResult, referencedContent } from '../../../core/result.ts';
import { filesInTree } from '../../../core/tree.ts';
import type { Blobs } from '../../../store/store.ts';
import type { RequestContext } from '../../context.ts';

/**
 * `accepted`: how many bytes the client accepts.
 * Selects none while the server is crowded, and none for a large result: decoding it blocks other requests,
 * and a client that fetches many outputs saves little by a few inlined ones.
 */
export async function selectBlobs(
  { server, store }: RequestContext,
  result: Uint8Array,
  accepted: number,
): Promise<readonly InlinedBlob[]> {
  const limit = Math.min(accepted, server.limits.inlinedBlobsBytes);
  if (!(limit > INLINED_BLOB_OVERHEAD)) return [];
  if (!store.identity.rights.has('blobs:read')) return [];
  if (server.capacity.isCrowded || result.length > server.limits.inlinedBlobsBytes) return [];
  const selection = new Selection(store.blobs, limit);
  const { blobs, trees } = referencedContent(decodeResult(result));
  for (const tree of trees) {
    const bytes = await selection.add(tree);
    if (bytes) for (const leaf of filesInTree(bytes)) await selection.add(leaf);
  }
  for (const blob of blobs) await selection.add(blob);
  return selection.blobs;
}

class Selection {
  readonly blobs: InlinedBlob[] = [];
  readonly #blobs: Blobs;
  readonly #seen = new Set<string>();
  #bytesLeft: number;

  constructor(blobs: Blobs, limit: number) {
    this.#blobs = blobs;
    this.#bytesLeft = limit;
  }

  /** Adds the blob if it fits and is small, and returns its bytes. */
  async add({ hash, size }: Digest): Promise<Buffer | undefined> {
    const takes = INLINED_BLOB_OVERHEAD + size;
    if (takes > this.#bytesLeft || this.#seen.has(hash)) return undefined;
    this.#seen.add(hash);
    const blob = await this.#blobs.get(hash);
    if (!blob?.bytes) return undefined;
    this.#bytesLeft -= takes;
    this.blobs.push({ hash, bytes: blob.bytes });
    return blob.bytes;
  }
}
