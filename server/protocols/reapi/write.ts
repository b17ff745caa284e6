// ByteStream.Write: a blob as a stream of messages. The parts of a large blob are stored as they arrive. So
// after a broken connection, or a restart of the server, the client can ask for the committed size and send
// the rest.
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { WriteResponse } from '../../../core/proto/generated/bytestream.ts';
import { STORE } from '../../../store/limits.ts';
import type { Blobs } from '../../../store/store.ts';
import type { ScopedUploads } from '../../access/scoped-store.ts';
import type { Call } from '../../grpc/call.ts';
import { parseUploadName, type UploadName, uploadId } from './resource-name.ts';
import { withUpload } from './upload-owner.ts';
import { WriteStream } from './write-stream.ts';
import { decompressStream } from './zstd.ts';

/** The committed size that REAPI prescribes for a compressed write of a blob that is already stored. */
const ALREADY_STORED = -1;

export async function write(call: Call): Promise<void> {
  const { store } = call;
  const { lifecycle, limits } = call.server;
  const stream = await WriteStream.open(call.pieces(), limits.maxGrpcMessageBytes);
  try {
    const name = parseUploadName(stream.resourceName);
    const { digest, isCompressed } = name;
    if (digest.size > limits.maxBlobBytes) throw tooLarge(limits.maxBlobBytes);
    if (await isStored(digest, store.blobs)) return answer(call, isCompressed ? ALREADY_STORED : digest.size);
    const committed = await lifecycle.whileWriting(() =>
      isResumable(digest)
        ? appendResumable(store.uploads, name, stream)
        : putWhole(store.blobs, name, stream),
    );
    answer(call, isCompressed ? stream.offset + stream.received : committed);
  } finally {
    stream.close();
  }
}

/** Sending a small blob again costs less than recording its progress. */
function isResumable({ size }: Digest): boolean {
  return size > STORE.chunkBytes;
}

export async function isStored(digest: Digest, blobs: Blobs): Promise<boolean> {
  return (await blobs.missing([digest])).length === 0;
}

async function putWhole(blobs: Blobs, name: UploadName, stream: WriteStream): Promise<number> {
  if (stream.offset !== 0) throw badOffset(stream.offset, 0);
  const { size } = await blobs.put(name.digest, contentOf(stream, name, 0));
  return size;
}

/** The committed size is that of the owner's upload: a temporary upload ends with its write. */
async function appendResumable(
  uploads: ScopedUploads,
  name: UploadName,
  stream: WriteStream,
): Promise<number> {
  const shared = uploadId(name);
  return withUpload(uploads, shared, stream.offset, async ({ id, isShared }) => {
    const committed = await appendWithRetry(id, uploads, name, stream);
    if (isShared || stream.isFinished) return committed;
    return (await uploads.status(shared))?.committed ?? 0;
  });
}

/**
 * Appends, and tries once more after a wrong offset: the server may still be storing data of the broken
 * connection when the client is back.
 */
async function appendWithRetry(
  id: string,
  uploads: ScopedUploads,
  name: UploadName,
  stream: WriteStream,
): Promise<number> {
  try {
    return await appendAt(await resumeOffset(uploads, id, stream.offset), id, uploads, name, stream);
  } catch (error) {
    // No continuation can make this a valid blob, so the upload is dropped.
    if (error instanceof AssayError && error.code === 'ASSAY_BAD_COMPRESSION') await uploads.cancel(id);
    if (!isBadOffset(error) || stream.isBeingRead) throw error;
    return appendAt(await resumeOffset(uploads, id, stream.offset), id, uploads, name, stream);
  }
}

async function appendAt(
  offset: number,
  id: string,
  uploads: ScopedUploads,
  name: UploadName,
  stream: WriteStream,
): Promise<number> {
  const expected = name.digest;
  const content = skipBytes(contentOf(stream, name, stream.offset), offset - stream.offset);
  const part = { expected, offset, content, isLast: () => stream.isFinished };
  return (await uploads.append(id, part)).committed;
}

/** The offset where the upload continues. Data before it is skipped. A write at 0 restarts the upload. */
async function resumeOffset(uploads: ScopedUploads, id: string, offset: number): Promise<number> {
  const known = await uploads.status(id);
  if (known && offset === 0) await uploads.cancel(id);
  const committed = offset === 0 ? 0 : (known?.committed ?? 0);
  if (offset > committed) throw badOffset(offset, committed);
  return committed;
}

async function* skipBytes(
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
    `the write begins at ${offset}, but the committed size is ${committed}`,
  );
}

function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit for a blob is ${limit} bytes`);
}
