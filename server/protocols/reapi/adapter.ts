// The methods of the Remote Execution API v2, without execution.
import { all, any, NOTHING_MORE } from '../../access/rights.ts';
import { type Methods, service } from '../../grpc/method.ts';
import { getActionResult, updateActionResult } from './action-cache.ts';
import { batchReadBlobs } from './batch-read.ts';
import { batchUpdateBlobs } from './batch-update.ts';
import { getCapabilities } from './capabilities.ts';
import { findMissingBlobs } from './find-missing.ts';
import { getTree } from './get-tree.ts';
import { queryWriteStatus } from './query-write-status.ts';
import { read } from './read.ts';
import { spliceBlob } from './splice-blob.ts';
import { splitBlob } from './split-blob.ts';
import { write } from './write.ts';

const REAPI = 'build.bazel.remote.execution.v2';

/** The list of the chunks is kept as a result. */
const SPLITS = all('blobs:read', 'blobs:write', 'results:write');

export const reapiMethods: Methods = new Map([
  ...service(`${REAPI}.Capabilities`, { GetCapabilities: [NOTHING_MORE, getCapabilities] }),
  ...service(`${REAPI}.ActionCache`, {
    GetActionResult: [all('results:read'), getActionResult],
    UpdateActionResult: [all('results:write'), updateActionResult],
  }),
  ...service(`${REAPI}.ContentAddressableStorage`, {
    FindMissingBlobs: [any('blobs:read', 'blobs:write'), findMissingBlobs],
    BatchReadBlobs: [all('blobs:read'), batchReadBlobs],
    GetTree: [all('blobs:read'), getTree],
    BatchUpdateBlobs: [all('blobs:write'), batchUpdateBlobs],
    SplitBlob: [SPLITS, splitBlob],
    SpliceBlob: [SPLITS, spliceBlob],
  }),
  ...service('google.bytestream.ByteStream', {
    Read: [all('blobs:read'), read],
    QueryWriteStatus: [any('blobs:read', 'blobs:write'), queryWriteStatus],
    Write: [all('blobs:write'), write],
  }),
]);
