// GetCapabilities. Clients decide by these capabilities what to send, so they depend on --read-only, the rights of
// the token and the limits.
import { REAPI_CHUNKING } from '../../../core/fastcdc.ts';
import {
  Compressor_Value,
  DigestFunction_Value,
  GetCapabilitiesRequest,
  ServerCapabilities,
  SymlinkAbsolutePathStrategy_Value,
} from '../../../core/proto/generated/reapi-services.ts';
import { FLAT } from '../../../core/proto/request-shapes.ts';
import type { Right } from '../../access/rights.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { namespaceOf } from './instance.ts';
import { toolOf } from './origin.ts';

const LOWEST = { major: 2, minor: 0, patch: 0, prerelease: '' };
const HIGHEST = { major: 2, minor: 3, patch: 0, prerelease: '' };

export const getCapabilities = singleRequest(GetCapabilitiesRequest, FLAT, async ({ instanceName }, call) => {
  namespaceOf(instanceName);
  call.answer(ServerCapabilities.encode(capabilitiesOf(call)).finish());
});

function capabilitiesOf(call: Call): ServerCapabilities {
  const {
    server: { readOnly, limits },
    store: { identity },
  } = call;
  const may = (right: Right) => !readOnly && identity.rights.has(right);
  return {
    cacheCapabilities: {
      digestFunctions: [DigestFunction_Value.SHA256],
      actionCacheUpdateCapabilities: { updateEnabled: may('results:write') || failsWithoutUpdates(call) },
      maxBatchTotalSizeBytes: limits.maxBatchBytes,
      symlinkAbsolutePathStrategy: SymlinkAbsolutePathStrategy_Value.ALLOWED,
      supportedCompressors: [Compressor_Value.ZSTD],
      supportedBatchUpdateCompressors: [Compressor_Value.ZSTD],
      maxCasBlobSizeBytes: limits.maxBlobBytes,
      /** SplitBlob stores the chunks, and their list as a result. */
      splitBlobSupport: may('blobs:write') && may('results:write'),
      spliceBlobSupport: may('blobs:write') && may('results:write'),
      fastCdc2020Params: { avgChunkSizeBytes: REAPI_CHUNKING.averageBytes, seed: 0 },
    },
    lowApiVersion: LOWEST,
    highApiVersion: HIGHEST,
  };
}

/**
 * Bazel before 6.0 ends before the build begins if it is told that it may not update. It takes a denied update
 * for a warning (docs/decisions/0288). Debian's Bazel tells no version.
 */
function failsWithoutUpdates(call: Call): boolean {
  const { name, version } = toolOf(call);
  return name === 'bazel' && !/^(?:[6-9]|\d\d)/.test(version);
}
