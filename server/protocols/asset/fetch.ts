// Fetch: the blob or folder that was pushed under a name. The server fetches nothing from elsewhere: a miss
// is NOT_FOUND.
import { AssayError } from '../../../core/errors.ts';
import {
  FetchBlobRequest,
  FetchBlobResponse,
  FetchDirectoryRequest,
  FetchDirectoryResponse,
} from '../../../core/proto/generated/asset.ts';
import { DigestFunction_Value } from '../../../core/proto/generated/reapi-services.ts';
import { FETCH_ASSET } from '../../../core/proto/request-shapes.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { OK } from '../reapi/batch.ts';
import { instanceOf } from '../reapi/instance.ts';
import { type AssetKind, assetAddress, checkAssetName, decodeAsset, type FoundAsset } from './asset.ts';
import { isBefore, timestampOf } from './timestamp.ts';

const MISS = new AssayError('ASSAY_NOT_FOUND', 'nothing was pushed under these names');

export const fetchBlob = singleRequest(FetchBlobRequest, FETCH_ASSET, async (request, call) => {
  const { digest: blobDigest, ...found } = await fetch('blob', request, call);
  call.answer(FetchBlobResponse.encode({ ...found, blobDigest }).finish());
});

export const fetchDirectory = singleRequest(FetchDirectoryRequest, FETCH_ASSET, async (request, call) => {
  const { digest: rootDirectoryDigest, ...found } = await fetch('directory', request, call);
  call.answer(FetchDirectoryResponse.encode({ ...found, rootDirectoryDigest }).finish());
});

async function fetch(kind: AssetKind, request: FetchBlobRequest, call: Call) {
  const { store } = call;
  const { uris, qualifiers } = request;
  const namespace = instanceOf(request);
  checkAssetName(uris, qualifiers);
  const addresses = uris.map((uri) => assetAddress(namespace, kind, uri, qualifiers));
  for (const [index, uri] of uris.entries()) {
    const address = addresses[index];
    const result = address && (await store.results.get(address));
    const asset = result && decodeAsset(result.bytes);
    if (!asset || !isWanted(asset, request)) continue;
    call.lookedUp('asset', 'asset', true, address);
    const { digest, expiresAt } = asset;
    const digestFunction = DigestFunction_Value.SHA256;
    return { status: OK, uri, qualifiers, digest, digestFunction, ...(expiresAt && { expiresAt }) };
  }
  for (const address of addresses.slice(0, 1)) call.lookedUp('asset', 'asset', false, address);
  throw MISS;
}

function isWanted({ pushedAt, expiresAt }: FoundAsset, { oldestContentAccepted }: FetchBlobRequest): boolean {
  const isExpired = expiresAt !== undefined && isBefore(expiresAt, timestampOf(Date.now()));
  return !isExpired && !(oldestContentAccepted && isBefore(pushedAt, oldestContentAccepted));
}
