// ByteStream.Write: a blob as a stream of messages. A large one is kept as it arrives, so that after a broken
// connection, or a new start of the server, its client asks how far it came and sends the rest.
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { WriteResponse } from '../../../core/proto/generated/bytestream.ts';
import { STORE } from '../../../store/limits.ts';
import type { Blobs, Uploads } from '../../../store/store.ts';
import type { Call } from '../../grpc/call.ts';
import { parseUploadName, type UploadName, uploadId } from './resource-name.ts';
import { withUpload } from './upload-owner.ts';
import { WriteStream } from './write-stream.ts';
import { decompressStream } from './zstd.ts';

/** What REAPI has a compressed write answered with when the blob is there already. */
const ALREADY_THERE = -1;

export async function write(call: Call): Promise<void> {
  const { store, lifecycle, limits } = call.server;
  const stream = await WriteStream.open(call.pieces(), limits.maxGrpcMessageBytes);
  try {
    const name = parseUploadName(stream.resourceName);
    const { digest, isCompressed } = name;
    if (digest.size > limits.maxBlobBytes) throw tooLarge(limits.maxBlobBytes);
    if (await isThere(digest, store.blobs)) return answer(call, isCompressed ? ALREADY_THERE : digest.size);
    const committed = await lifecycle.whileWriting(() =>
      isResumable(digest)
        ? appendResumable(store.uploads, name, stream)
        : putWhole(store.blobs, name, stream),
    );
    answer(call, isCompressed ? stream.offset + stream.received : committed);
  } finally {
    await stream.close();
  }
}

/** Sending a small blob again costs less than remembering how much of it has come. */
export function isResumable({ size }: Digest): boolean {
  return size > STORE.chunkBytes;
}

export async function isThere(digest: Digest, blobs: Blobs): Promise<boolean> {
  return (await blobs.missing([digest])).length === 0;
}

async function putWhole(blobs: Blobs, name: UploadName, stream: WriteStream): Promise<number> {
  if (stream.offset !== 0) throw badOffset(stream.offset, 0);
  const { size } = await blobs.put(name.digest, contentOf(stream, name, 0));
  return size;
}

/** A guest's upload is forgotten when it ends: what it left unfinished, the name does not stand at. */
async function appendResumable(uploads: Uploads, name: UploadName, stream: WriteStream): Promise<number> {
  const shared = uploadId(name);
  return withUpload(uploads, shared, stream.offset, async ({ id, isShared }) => {
    const committed = await keepUnder(id, uploads, name, stream);
    if (isShared || stream.isFinished) return committed;
    return (await uploads.status(shared))?.committed ?? 0;
  });
}

/**
 * The connection that broke may still be at work when its client is back, and move the place where the upload
 * stands: then it is looked at once more.
 */
async function keepUnder(
  id: string,
  uploads: Uploads,
  name: UploadName,
  stream: WriteStream,
): Promise<number> {
  try {
    return await keepFrom(await startOf(uploads, id, stream.offset), id, uploads, name, stream);
  } catch (error) {
    // No rest that could be sent makes this a blob: nothing of it is worth keeping.
    if (error instanceof AssayError && error.code === 'ASSAY_BAD_COMPRESSION') await uploads.cancel(id);
    if (!isBadOffset(error) || stream.isBeingRead) throw error;
    return keepFrom(await startOf(uploads, id, stream.offset), id, uploads, name, stream);
  }
}

async function keepFrom(
  offset: number,
  id: string,
  uploads: Uploads,
  name: UploadName,
  stream: WriteStream,
): Promise<number> {
  const expected = name.digest;
  const content = after(contentOf(stream, name, stream.offset), offset - stream.offset);
  const part = { expected, offset, content, isLast: () => stream.isFinished };
  return (await uploads.append(id, part)).committed;
}

/**
 * Where the upload goes on; what the client sends again before that is dropped. A client that begins anew
 * means it.
 */
async function startOf(uploads: Uploads, id: string, offset: number): Promise<number> {
  const known = await uploads.status(id);
  if (known && offset === 0) await uploads.cancel(id);
  const committed = offset === 0 ? 0 : (known?.committed ?? 0);
  if (offset > committed) throw badOffset(offset, committed);
  return committed;
}

async function* after(
  pieces: AsyncIterable<Uint8Array>,
  skipped: number,
): AsyncGenerator<Uint8Array, void, void> {
  let left = skipped;
  for await (const piece of pieces) {
    if (left < piece.byteLength) yield left === 0 ? piece : piece.subarray(left);
    left -= Math.min(left, piece.byteLength);
  }
}

function contentOf(
  stream: WriteStream,
  { isCompressed, digest }: UploadName,
  offset: number,
): AsyncIterable<Uint8Array> {
  return isCompressed ? decompressStream(stream, digest.size - offset) : stream;
}

function isBadOffset(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_BAD_OFFSET';
}

function answer(call: Call, committedSize: number): void {
  call.answer(WriteResponse.encode({ committedSize }).finish());
}

function badOffset(offset: number, committed: number): AssayError {
  return new AssayError(
    'ASSAY_BAD_OFFSET',
    `the write begins at ${offset}, the upload stands at ${committed}`,
  );
}

function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit for a blob is ${limit} bytes`);
}
