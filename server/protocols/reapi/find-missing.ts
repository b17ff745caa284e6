// FindMissingBlobs: the blobs that the client must upload. It renews the lease of every blob that is present.
import { WireType } from '@bufbuild/protobuf/wire';
import type { Call } from '../../grpc/call.ts';
import { readDigestList } from './digest-list.ts';
import { instanceOf } from './instance.ts';
import { encodeDigests } from './wire-digest.ts';

/** The field FindMissingBlobsResponse.missing_blob_digests. */
const MISSING_DIGEST = (2 << 3) | WireType.LengthDelimited;

export async function findMissingBlobs(call: Call): Promise<void> {
  const { digests, ...about } = readDigestList(await call.message());
  instanceOf(about);
  const missing = await call.store.blobs.missing(digests);
  call.answer(encodeDigests(MISSING_DIGEST, missing));
}
