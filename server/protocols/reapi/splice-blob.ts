// SpliceBlob: assembles a blob from stored chunks. Nothing is written before its SHA-256 is verified.
// The list of chunks is stored for the next SplitBlob.
import { type Digest, parseDigest, parseHash, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { SpliceBlobRequest, SpliceBlobResponse } from '../../../core/proto/generated/reapi-services.ts';
import { SPLICE } from '../../../core/proto/request-shapes.ts';
import { nodeCrypto } from '../../../core/sha256.ts';
import { refuseMismatch } from '../../../store/shared/expected.ts';
import type { Blobs } from '../../../store/store.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { assembled, assembledSize, assemblies } from '../shared/assembly.ts';
import { storeChunks } from './chunk-list.ts';
import { digestIn, instanceOf } from './instance.ts';
import { isStored } from './write.ts';

export const spliceBlob = singleRequest(SpliceBlobRequest, SPLICE, async (request, call) => {
  const {
    store,
    server: { limits },
  } = call;
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
  if (!(await isStored(digest, store.blobs))) await assemblies.run(() => splice(digest, chunks, call));
  call.answer(SpliceBlobResponse.encode({ blobDigest: toWire(digest) }).finish());
});

async function splice(digest: Digest, chunks: readonly Digest[], call: Call): Promise<void> {
  const {
    store,
    server: { lifecycle },
  } = call;
  if (await isStored(digest, store.blobs)) return;
  refuseMismatch(digest, await digestOfAll(chunks, store.blobs, call));
  await lifecycle.whileWriting(async () => {
    await store.blobs.put(digest, assembled(chunks, store.blobs, missingChunk));
    await storeChunks(store.results, digest.hash, chunks);
  });
}

/** Throws when the client has cancelled the call. */
async function digestOfAll(chunks: readonly Digest[], blobs: Blobs, call: Call): Promise<Digest> {
  const hasher = nodeCrypto().createHash('sha256');
  let size = 0;
  for await (const piece of assembled(chunks, blobs, missingChunk)) {
    if (call.isGone) throw new AssayError('ASSAY_BODY_TIMEOUT', 'the client cancelled the call');
    hasher.update(piece);
    size += piece.length;
  }
  return { hash: parseHash(hasher.digest('hex')), size };
}

function missingChunk(): AssayError {
  return new AssayError('ASSAY_NOT_FOUND', 'at least one of the chunks is not in the store');
}
