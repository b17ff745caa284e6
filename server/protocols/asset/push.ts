// Push: gives names to a stored blob or folder. The content that it references must be stored, too.
import { AssayError } from '../../../core/errors.ts';
import {
  PushBlobRequest,
  PushBlobResponse,
  PushDirectoryRequest,
  PushDirectoryResponse,
} from '../../../core/proto/generated/asset.ts';
import type { Digest } from '../../../core/proto/generated/reapi.ts';
import { PUSH_ASSET } from '../../../core/proto/request-shapes.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { instanceOf } from '../reapi/instance.ts';
import { type AssetKind, assetAddress, checkAssetName, encodeAsset } from './asset.ts';
import { timestampOf } from './timestamp.ts';

export const pushBlob = singleRequest(PushBlobRequest, PUSH_ASSET, async (request, call) => {
  await push('blob', request, request.blobDigest, call);
  call.answer(PushBlobResponse.encode({}).finish());
});

export const pushDirectory = singleRequest(PushDirectoryRequest, PUSH_ASSET, async (request, call) => {
  await push('directory', request, request.rootDirectoryDigest, call);
  call.answer(PushDirectoryResponse.encode({}).finish());
});

type PushRequest = Omit<PushBlobRequest, 'blobDigest'>;

async function push(
  kind: AssetKind,
  request: PushRequest,
  digest: Digest | undefined,
  { store, server: { lifecycle } }: Call,
): Promise<void> {
  const { uris, qualifiers, expireAt, referencesBlobs, referencesDirectories } = request;
  const namespace = instanceOf(request);
  checkAssetName(uris, qualifiers);
  if (!digest) throw new AssayError('ASSAY_BAD_DIGEST', 'the request has no digest');
  const pushedAt = timestampOf(Date.now());
  const times = { pushedAt, expiresAt: expireAt };
  const bytes = encodeAsset({ kind, digest, referencesBlobs, referencesDirectories, ...times });
  await lifecycle.whileWriting(async () => {
    for (const uri of uris) {
      await store.results.put(assetAddress(namespace, kind, uri, qualifiers), bytes, { replace: true });
    }
  });
}
