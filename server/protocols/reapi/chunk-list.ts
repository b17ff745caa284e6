// Which chunks make up a blob. Kept as a result whose outputs are the chunks in their order, in a space that
// no client can name: so the list is there exactly as long as all of its chunks are, and finding it says that
// they are in use.
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
