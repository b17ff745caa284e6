// SpliceBlob: a blob from chunks that are here already. It is put together, verified by its SHA-256 and stored like every
// other; how it was made up is remembered for the next SplitBlob.
import { type Digest, parseDigest, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { SpliceBlobRequest, SpliceBlobResponse } from '../../../core/proto/generated/reapi-services.ts';
import { SPLICE } from '../../../core/request-shapes.ts';
import type { Blobs } from '../../../store/store.ts';
import { taking } from '../../grpc/method.ts';
import { keepChunks } from './chunk-list.ts';
import { digestIn, instanceOf } from './instance.ts';
import { isThere } from './write.ts';

export const spliceBlob = taking(SpliceBlobRequest, SPLICE, async (request, call) => {
  const { store, lifecycle, limits } = call.server;
  instanceOf(request);
  const digest = digestIn(request.blobDigest);
  const chunks = request.chunkDigests.map(parseDigest);
  if (digest.size > limits.maxBlobBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `the limit is ${limits.maxBlobBytes}`);
  const total = chunks.reduce((sum, { size }) => sum + size, 0);
  if (total !== digest.size) {
    throw new AssayError(
      'ASSAY_SIZE_MISMATCH',
      `the chunks have ${total} bytes together, the blob ${digest.size}`,
    );
  }
  if ((await store.blobs.missing(chunks)).length > 0) throw missingChunk();
  if (!(await isThere(digest, store.blobs))) {
    await lifecycle.whileWriting(async () => {
      await store.blobs.put(digest, joined(chunks, store.blobs));
      await keepChunks(store.results, digest.hash, chunks);
    });
  }
  call.answer(SpliceBlobResponse.encode({ blobDigest: toWire(digest) }).finish());
});

async function* joined(chunks: readonly Digest[], blobs: Blobs): AsyncGenerator<Buffer, void, void> {
  for (const { hash, size } of chunks) {
    const chunk = await blobs.get(hash);
    if (chunk?.size !== size) throw missingChunk();
    if (chunk.bytes) yield chunk.bytes;
    else yield* chunk.chunks();
  }
}

function missingChunk(): AssayError {
  return new AssayError('ASSAY_NOT_FOUND', 'at least one of the chunks is not here');
}
