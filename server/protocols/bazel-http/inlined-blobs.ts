// The small blobs that a result names, for a client that asks to have them with it (core/inlined-blobs.ts).
// What is too large, or does not fit any more, it asks for as before.

import type { Digest } from '../../../core/digest.ts';
import {
  INLINED_BLOB_OVERHEAD,
  INLINED_BLOBS_HEADER,
  type InlinedBlob,
} from '../../../core/inlined-blobs.ts';
import { decodeResult, referencedContent } from '../../../core/result.ts';
import { filesInTree } from '../../../core/tree.ts';
import type { Blobs } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';

/**
 * In a crowd nobody gets more than was asked for by name. A large result comes alone: to look through it
 * takes time, in which everybody else waits, and a client that has to fetch so many outputs saves nothing by
 * a few of them.
 */
export async function selectBlobs(
  { request, server }: Exchange,
  result: Uint8Array,
): Promise<readonly InlinedBlob[]> {
  const room = Math.min(Number(request.headers[INLINED_BLOBS_HEADER] ?? 0), server.limits.inlinedBlobsBytes);
  if (!(room > INLINED_BLOB_OVERHEAD) || request.method === 'HEAD') return [];
  if (server.capacity.isCrowded || result.length > server.limits.inlinedBlobsBytes) return [];
  const party = new Party(server.store.blobs, room);
  const { blobs, trees } = referencedContent(decodeResult(result));
  for (const tree of trees) {
    const bytes = await party.invite(tree);
    if (bytes) for (const leaf of filesInTree(bytes)) await party.invite(leaf);
  }
  for (const blob of blobs) await party.invite(blob);
  return party.blobs;
}

class Party {
  readonly blobs: InlinedBlob[] = [];
  readonly #blobs: Blobs;
  readonly #invited = new Set<string>();
  #room: number;

  constructor(blobs: Blobs, room: number) {
    this.#blobs = blobs;
    this.#room = room;
  }

  /** Its bytes, if it comes. */
  async invite({ hash, size }: Digest): Promise<Buffer | undefined> {
    const takes = INLINED_BLOB_OVERHEAD + size;
    if (takes > this.#room || this.#invited.has(hash)) return undefined;
    this.#invited.add(hash);
    const blob = await this.#blobs.get(hash);
    if (!blob?.bytes) return undefined;
    this.#room -= takes;
    this.blobs.push({ hash, bytes: blob.bytes });
    return blob.bytes;
  }
}
