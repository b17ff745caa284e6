// ByteStream.QueryWriteStatus: how far an upload has come.
import {
  QueryWriteStatusRequest,
  QueryWriteStatusResponse,
} from '../../../core/proto/generated/bytestream.ts';
import { FLAT } from '../../../core/request-shapes.ts';
import { taking } from '../../grpc/method.ts';
import { parseUploadName } from './resource-name.ts';

export const queryWriteStatus = taking(QueryWriteStatusRequest, FLAT, async ({ resourceName }, call) => {
  const { digest } = parseUploadName(resourceName);
  const isComplete = (await call.server.store.blobs.missing([digest])).length === 0;
  const status = { committedSize: isComplete ? digest.size : 0, complete: isComplete };
  call.answer(QueryWriteStatusResponse.encode(status).finish());
});
