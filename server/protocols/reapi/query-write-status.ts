// ByteStream.QueryWriteStatus: the committed size of an upload, where its client continues.
import {
  QueryWriteStatusRequest,
  QueryWriteStatusResponse,
} from '../../../core/proto/generated/bytestream.ts';
import { FLAT } from '../../../core/proto/request-shapes.ts';
import { singleRequest } from '../../grpc/method.ts';
import { parseUploadName, uploadId } from './resource-name.ts';
import { isStored } from './write.ts';

export const queryWriteStatus = singleRequest(
  QueryWriteStatusRequest,
  FLAT,
  async ({ resourceName }, call) => {
    const { store } = call;
    const name = parseUploadName(resourceName);
    const complete = await isStored(name.digest, store.blobs);
    const mayUpload = store.identity.rights.has('blobs:write');
    const known = complete || !mayUpload ? undefined : await store.uploads.status(uploadId(name));
    const committedSize = complete ? name.digest.size : (known?.committed ?? 0);
    call.answer(QueryWriteStatusResponse.encode({ committedSize, complete }).finish());
  },
);
