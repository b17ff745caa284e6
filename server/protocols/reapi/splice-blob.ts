// SpliceBlob: a blob from chunks that are here already. It is put together, verified by its SHA-256 and
// stored like every other; how it was made up is remembered for the next SplitBlob. Nothing is written before
// the SHA-256 is known to be right.
import { type Digest, parseDigest, parseHash, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { SpliceBlobRequest, SpliceBlobResponse } from '../../../core/proto/generated/reapi-services.ts';
import { SPLICE } from '../../../core/request-shapes.ts';
import { nodeCrypto } from '../../../core/sha256.ts';
import { refuseMismatch } from '../../../store/shared/expected.ts';
import type { Blobs } from '../../../store/store.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { assembled, assembledSize, assemblies } from '../shared/assembly.ts';
import { storeChunks } from './chunk-list.ts';
import { digestIn, instanceOf } from './instance.ts';
import { isThere } from './write.ts';

export const spliceBlob = singleRequest(SpliceBlobRequest, SPLICE, async (request, call) => {
  const { store, limits } = call.server;
  instanceOf(request);
  const digest = digestIn(request.blobDigest);
  const chunks = request.chunkDigests.map(parseDigest);
  const total = assembledSize(chunks, limits.maxBlobBytes);
  if (total !== digest.size) {
    throw new AssayError(
      'ASSAY_SIZE_MISMATCH',
      `the chunks have ${total} bytes together, the blob ${digest.size}`,
    );
  }
  if ((await store.blobs.missing(chunks)).length > 0) throw missingChunk();
  if (!(await isThere(digest, store.blobs))) await assemblies.run(() => splice(digest, chunks, call));
  call.answer(SpliceBlobResponse.encode({ blobDigest: toWire(digest) }).finish());
});

async function splice(digest: Digest, chunks: readonly Digest[], call: Call): Promise<void> {
  const { store, lifecycle } = call.server;
  if (await isThere(digest, store.blobs)) return;
  refuseMismatch(digest, await digestOfAll(chunks, store.blobs, call));
  await lifecycle.whileWriting(async () => {
    await store.blobs.put(digest, assembled(chunks, store.blobs, missingChunk));
    await storeChunks(store.results, digest.hash, chunks);
  });
}

/** Ends when nobody waits for the answer any more. */
async function digestOfAll(chunks: readonly Digest[], blobs: Blobs, call: Call): Promise<Digest> {
  const hasher = nodeCrypto().createHash('sha256');
  let size = 0;
  for await (const piece of assembled(chunks, blobs, missingChunk)) {
    if (call.isGone) throw new AssayError('ASSAY_BODY_TIMEOUT', 'the client has given up');
    hasher.update(piece);
    size += piece.length;
  }
  return { hash: parseHash(hasher.digest('hex')), size };
}

function missingChunk(): AssayError {
  return new AssayError('ASSAY_NOT_FOUND', 'at least one of the chunks is not here');
}
