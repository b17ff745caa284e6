// Uploads one large blob by ByteStream.Write. If the connection breaks, asks the server how much it has and
// sends the rest: over a new connection, perhaps to a restarted server.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Digest } from '../../../core/digest.ts';
import { GRPC_STATUS } from '../../../core/grpc-status.ts';
import type { QueryWriteStatusResponse, WriteRequest } from '../../../core/proto/generated/bytestream.ts';
import type { Content } from '../../../store/store.ts';
import { GRPC_REMOTE, REMOTE } from '../../limits.ts';
import { type ReadBlob, RemoteFault } from '../remote.ts';
import { BrokenCall, GrpcFault } from './channel.ts';
import type { Services } from './services.ts';

export async function uploadBlob(digest: Digest, read: ReadBlob, services: Services): Promise<void> {
  const name = services.uploadName(randomUUID(), digest);
  let offset = 0;
  for (let fruitless = 0; ; fruitless++) {
    try {
      const committed = await services.write(pieces(name, digest, offset, await read(digest, offset)));
      if (committed === digest.size || committed === -1) return;
      throw new RemoteFault(`it kept ${committed} of ${digest.size} bytes`);
    } catch (error) {
      if (isThereAlready(error)) return;
      if (!isBroken(error) || fruitless >= REMOTE.fruitlessAttempts) throw error;
    }
    const { committedSize, complete } = await statusBeyond(offset, name, services);
    if (complete) return;
    if (committedSize > digest.size) throw new RemoteFault('it reports more bytes than the blob has');
    if (committedSize - offset >= REMOTE.progressBytes) fruitless = 0;
    offset = Math.max(0, committedSize);
  }
}

async function* pieces(
  resourceName: string,
  { size }: Digest,
  from: number,
  content: Content,
): AsyncGenerator<WriteRequest> {
  let offset = from;
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    for (let begin = 0; begin < chunk.length; begin += GRPC_REMOTE.pieceBytes) {
      const data = Buffer.from(chunk.subarray(begin, begin + GRPC_REMOTE.pieceBytes));
      yield { resourceName, writeOffset: offset, finishWrite: offset + data.length === size, data };
      offset += data.length;
    }
  }
  if (from === size) yield { resourceName, writeOffset: size, finishWrite: true, data: Buffer.alloc(0) };
}

/**
 * The upload's status. The server may not have noticed the broken connection yet, or not have stored the last
 * bytes. While it reports no progress, it is asked again a little later.
 */
async function statusBeyond(offset: number, name: string, services: Services): Promise<Status> {
  let status = await statusOf(name, services);
  for (const pause of GRPC_REMOTE.statusPausesMs) {
    if (status.complete || status.committedSize > offset) return status;
    await wait(pause);
    status = await statusOf(name, services);
  }
  return status;
}

type Status = Pick<QueryWriteStatusResponse, 'committedSize' | 'complete'>;

/** Starts from the beginning if the server lost the upload, or cannot resume. */
async function statusOf(name: string, services: Services): Promise<Status> {
  try {
    return await services.writeStatus(name);
  } catch (error) {
    const forgot: readonly number[] = [GRPC_STATUS.NOT_FOUND, GRPC_STATUS.UNIMPLEMENTED];
    if (error instanceof GrpcFault && forgot.includes(error.code))
      return { committedSize: 0, complete: false };
    if (isBroken(error)) return { committedSize: 0, complete: false };
    throw error;
  }
}

function isThereAlready(error: unknown): boolean {
  return error instanceof GrpcFault && error.code === GRPC_STATUS.ALREADY_EXISTS;
}

function isBroken(error: unknown): boolean {
  const passing: readonly number[] = [GRPC_STATUS.UNAVAILABLE, GRPC_STATUS.ABORTED, GRPC_STATUS.CANCELLED];
  return error instanceof BrokenCall || (error instanceof GrpcFault && passing.includes(error.code));
}
