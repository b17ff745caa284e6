// ByteStream.Write: a blob as a stream of messages.
import { AssayError } from '../../../core/errors.ts';
import { WriteResponse } from '../../../core/proto/generated/bytestream.ts';
import type { Call } from '../../grpc/call.ts';
import { parseUploadName, type UploadName } from './resource-name.ts';
import { WriteStream } from './write-stream.ts';
import { inflated } from './zstd.ts';

/** What REAPI has a compressed write answered with when the blob is there already. */
const ALREADY_THERE = -1;

export async function write(call: Call): Promise<void> {
  const { store, lifecycle, limits } = call.server;
  const stream = await WriteStream.open(call.pieces(), limits.maxGrpcMessageBytes);
  try {
    const name = parseUploadName(stream.resourceName);
    const { digest, isCompressed } = name;
    if (digest.size > limits.maxBlobBytes) throw tooLarge(limits.maxBlobBytes);
    if ((await store.blobs.missing([digest])).length === 0) {
      return answer(call, isCompressed ? ALREADY_THERE : digest.size);
    }
    await lifecycle.whileWriting(() => store.blobs.put(digest, contentOf(stream, name)));
    answer(call, isCompressed ? stream.offset + stream.received : digest.size);
  } finally {
    await stream.close();
  }
}

function contentOf(stream: WriteStream, { isCompressed, digest }: UploadName): AsyncIterable<Uint8Array> {
  return isCompressed ? inflated(stream, digest.size) : stream;
}

function answer(call: Call, committedSize: number): void {
  call.answer(WriteResponse.encode({ committedSize }).finish());
}

function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit for a blob is ${limit} bytes`);
}
