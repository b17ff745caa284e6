// The list of chunks of a blob, stored as a result whose outputs are the chunks in order.
// So the store finds the list only while it has all chunks, and finding it renews their leases.
// Its namespace is one that no client can name.
import { type Digest, type Hash, parseDigest, toWire } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE, protocolNamespace } from '../../../core/namespace.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import type { Results } from '../../../store/store.ts';

const NAMESPACE = protocolNamespace('chunks', DEFAULT_NAMESPACE);
const NOTHING = Buffer.alloc(0);

export async function findChunks(results: Results, blob: Hash): Promise<Digest[] | undefined> {
  const found = await results.get({ namespace: NAMESPACE, key: blob });
  return (
    found &&
    decodeResult(found.bytes).outputFiles.flatMap(({ digest }) => (digest ? [parseDigest(digest)] : []))
  );
}

export async function storeChunks(results: Results, blob: Hash, chunks: readonly Digest[]): Promise<void> {
  const list = ActionResult.encode({
    ...ActionResult.decode(NOTHING),
    outputFiles: chunks.map((chunk, index) => ({
      path: String(index),
      digest: toWire(chunk),
      isExecutable: false,
      contents: NOTHING,
    })),
  }).finish();
  await results.put({ namespace: NAMESPACE, key: blob }, list, { replace: true });
}
