// GetCapabilities. Clients decide by these capabilities what to send, so they depend on --read-only and the
// limits.
import { REAPI_CHUNKING } from '../../../core/fastcdc.ts';
import {
  Compressor_Value,
  DigestFunction_Value,
  GetCapabilitiesRequest,
  ServerCapabilities,
  SymlinkAbsolutePathStrategy_Value,
} from '../../../core/proto/generated/reapi-services.ts';
import { FLAT } from '../../../core/request-shapes.ts';
import type { ServerContext } from '../../context.ts';
import { singleRequest } from '../../grpc/method.ts';
import { namespaceOf } from './instance.ts';

const LOWEST = { major: 2, minor: 0, patch: 0, prerelease: '' };
const HIGHEST = { major: 2, minor: 3, patch: 0, prerelease: '' };

export const getCapabilities = singleRequest(GetCapabilitiesRequest, FLAT, async ({ instanceName }, call) => {
  namespaceOf(instanceName);
  call.answer(ServerCapabilities.encode(capabilitiesOf(call.server)).finish());
});

function capabilitiesOf({ readOnly, limits }: ServerContext): ServerCapabilities {
  return {
    cacheCapabilities: {
      digestFunctions: [DigestFunction_Value.SHA256],
      actionCacheUpdateCapabilities: { updateEnabled: !readOnly },
      maxBatchTotalSizeBytes: limits.maxBatchBytes,
      symlinkAbsolutePathStrategy: SymlinkAbsolutePathStrategy_Value.ALLOWED,
      supportedCompressors: [Compressor_Value.ZSTD],
      supportedBatchUpdateCompressors: [Compressor_Value.ZSTD],
      maxCasBlobSizeBytes: limits.maxBlobBytes,
      /** SplitBlob stores the chunks, so a read-only server does not have it. */
      splitBlobSupport: !readOnly,
      spliceBlobSupport: !readOnly,
      fastCdc2020Params: { avgChunkSizeBytes: REAPI_CHUNKING.averageBytes, seed: 0 },
    },
    lowApiVersion: LOWEST,
    highApiVersion: HIGHEST,
  };
}
