// ByteStream.Read: a blob, or a range of it, as a stream of messages. The store verifies every chunk before
// it is sent. After a damaged chunk the call ends with an error status, so no client takes the data for
// whole.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { AssayError } from '../../../core/errors.ts';
import { ReadRequest } from '../../../core/proto/generated/bytestream.ts';
import { FLAT } from '../../../core/proto/request-shapes.ts';
import type { Blob } from '../../../store/store.ts';
import { singleRequest } from '../../grpc/method.ts';
import type { ByteRange } from '../../http/range.ts';
import { sendLargeBlob, truncatedBlob } from '../../http/send-blob.ts';
import { parseReadName } from './resource-name.ts';
import { compressStream } from './zstd.ts';

const MISS = new AssayError('ASSAY_NOT_FOUND', 'the blob is not in the store');

/** The field number of ReadResponse.data. */
const DATA_FIELD = 10;

export const read = singleRequest(ReadRequest, FLAT, async (request, call) => {
  const {
    store,
    server: { metrics },
  } = call;
  const { digest, isCompressed } = parseReadName(request.resourceName);
  checkSpan(request, isCompressed, digest.size);
  const blob = await store.blobs.get(digest.hash);
  const isHere = blob?.size === digest.size;
  metrics.lookedUp('cas', isHere);
  if (!isHere) throw MISS;
  const range = rangeIn(blob, request);
  const send = (piece: Buffer) => call.send(dataHead(piece.length), piece);
  if (!blob.bytes && !isCompressed) {
    const { bytes, isDelivered } = await sendLargeBlob(call.server, blob, range, send);
    metrics.sent(bytes);
    if (isDelivered && bytes !== range.length) throw truncatedBlob(bytes, range.length);
    return;
  }
  let sent = 0;
  for await (const piece of isCompressed ? compressStream(pieces(blob, range)) : pieces(blob, range)) {
    if (!(await send(piece))) break;
    sent += piece.length;
  }
  metrics.sent(sent);
});

function checkSpan({ readOffset, readLimit }: ReadRequest, isCompressed: boolean, size: number): void {
  if (readOffset < 0 || readOffset > size) {
    throw new AssayError(
      'ASSAY_BAD_RANGE',
      `this blob has ${size} bytes; byte ${readOffset} is none of them`,
    );
  }
  if (readLimit < 0) throw new AssayError('ASSAY_UNSUPPORTED', 'read_limit is negative');
  if (readLimit > 0 && isCompressed) {
    throw new AssayError('ASSAY_UNSUPPORTED', 'read_limit is not supported for compressed blobs');
  }
}

function rangeIn({ size }: Blob, { readOffset: offset, readLimit: limit }: ReadRequest): ByteRange {
  return { offset, length: Math.min(limit === 0 ? size : limit, size - offset) };
}

async function* pieces(blob: Blob, { offset, length }: ByteRange): AsyncGenerator<Buffer, void, void> {
  if (length === 0) return;
  let given = 0;
  for await (const piece of blob.bytes
    ? [blob.bytes.subarray(offset, offset + length)]
    : blob.chunks(offset, length)) {
    given += piece.length;
    yield piece;
  }
  if (given !== length) throw truncatedBlob(given, length);
}

/** The bytes before the data in a ReadResponse. */
function dataHead(length: number): Uint8Array {
  return new BinaryWriter().tag(DATA_FIELD, WireType.LengthDelimited).uint32(length).finish();
}
