// FindMissingBlobs: the blobs that the client must upload. It renews the lease of every blob that is present.
import { FindMissingBlobsResponse } from '../../../core/proto/generated/reapi-services.ts';
import type { Call } from '../../grpc/call.ts';
import { readDigestList } from './digest-list.ts';
import { instanceOf } from './instance.ts';

export async function findMissingBlobs(call: Call): Promise<void> {
  const { digests, ...about } = readDigestList(await call.message());
  instanceOf(about);
  const missing = await call.store.blobs.missing(digests);
  const missingBlobDigests = missing.map(({ hash, size }) => ({ hash, sizeBytes: size }));
  call.answer(FindMissingBlobsResponse.encode({ missingBlobDigests }).finish());
}
