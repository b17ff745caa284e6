// The methods of the Remote Execution API v2, without execution.
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

export const reapiMethods: Methods = new Map([
  ...service(`${REAPI}.Capabilities`, { GetCapabilities: getCapabilities }),
  ...service(
    `${REAPI}.ActionCache`,
    { GetActionResult: getActionResult },
    { UpdateActionResult: updateActionResult },
  ),
  ...service(
    `${REAPI}.ContentAddressableStorage`,
    { FindMissingBlobs: findMissingBlobs, BatchReadBlobs: batchReadBlobs, GetTree: getTree },
    { BatchUpdateBlobs: batchUpdateBlobs, SplitBlob: splitBlob, SpliceBlob: spliceBlob },
  ),
  ...service(
    'google.bytestream.ByteStream',
    { Read: read, QueryWriteStatus: queryWriteStatus },
    { Write: write },
  ),
]);
