// SplitBlob: splits a large blob into chunks, stores them as blobs and returns their digests.
// A client that has most chunks of an earlier version fetches only the others.
import { type Digest, digestOf, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { type ChunkingParams, firstChunkLength, REAPI_CHUNKING } from '../../../core/fastcdc.ts';
import {
  ChunkingFunction_Value,
  SplitBlobRequest,
  SplitBlobResponse,
} from '../../../core/proto/generated/reapi-services.ts';
import { ABOUT_ONE_DIGEST } from '../../../core/proto/request-shapes.ts';
import type { Blob } from '../../../store/store.ts';
import type { ScopedStore } from '../../access/scoped-store.ts';
import { singleRequest } from '../../grpc/method.ts';
import { findChunks, storeChunks } from './chunk-list.ts';
import { digestIn, instanceOf } from './instance.ts';

export const splitBlob = singleRequest(SplitBlobRequest, ABOUT_ONE_DIGEST, async (request, call) => {
  const {
    store,
    server: { lifecycle },
  } = call;
  instanceOf(request);
  const digest = digestIn(request.blobDigest);
  const blob = await store.blobs.get(digest.hash);
  if (blob?.size !== digest.size) throw new AssayError('ASSAY_NOT_FOUND', 'the blob is not in the store');
  const chunks = await lifecycle.whileWriting(() => chunksOf(digest, blob, store));
  const chunkingFunction = ChunkingFunction_Value.FAST_CDC_2020;
  call.answer(SplitBlobResponse.encode({ chunkDigests: chunks.map(toWire), chunkingFunction }).finish());
});

/** A blob of at most the maximum chunk size is its own only chunk. */
async function chunksOf(digest: Digest, blob: Blob, store: ScopedStore): Promise<Digest[]> {
  if (blob.bytes || blob.size <= REAPI_CHUNKING.maxBytes) return [digest];
  const known = await findChunks(store.results, digest.hash);
  if (known) return known;
  const chunks: Digest[] = [];
  for await (const chunk of cut(blob.chunks(), REAPI_CHUNKING)) {
    const part = digestOf(chunk);
    await store.blobs.put(part, chunk);
    chunks.push(part);
  }
  await storeChunks(store.results, digest.hash, chunks);
  return chunks;
}

/** Yields chunks. The buffer of a chunk is reused for the next one. */
async function* cut(
  pieces: AsyncIterable<Buffer>,
  cutting: ChunkingParams,
): AsyncGenerator<Buffer, void, void> {
  const window = Buffer.allocUnsafeSlow(2 * cutting.maxBytes);
  let filled = 0;
  for await (const piece of pieces) {
    filled += piece.copy(window, filled);
    let begin = 0;
    while (filled - begin >= cutting.maxBytes) {
      const length = firstChunkLength(window.subarray(begin, filled), cutting);
      yield window.subarray(begin, begin + length);
      begin += length;
    }
    window.copyWithin(0, begin, filled);
    filled -= begin;
  }
  for (let begin = 0; begin < filled; ) {
    const length = firstChunkLength(window.subarray(begin, filled), cutting);
    yield window.subarray(begin, begin + length);
    begin += length;
  }
}
