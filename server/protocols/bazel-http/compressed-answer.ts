// Sends a blob compressed with zstd to a client that accepts it. A request with Range, If-Match or If-Range
// gets identity bytes, because ranges and tags refer to them.
//
// The compressed length is unknown, so the body uses chunked encoding. A body that breaks off has no last
// chunk, so no client takes it for whole. HTTP/1.0 has no chunked encoding, and gets identity bytes.
import type { Hash } from '../../../core/digest.ts';
import type { Blob, LargeBlob } from '../../../store/store.ts';
import { BodyWriter } from '../../http/body-writer.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { truncatedBlob } from '../../http/send-blob.ts';
import { SERVER } from '../../limits.ts';
import { compress, compressStream } from '../reapi/zstd.ts';
import { acceptsZstd } from '../shared/accept-encoding.ts';
import { BYTES } from '../shared/blob-answer.ts';
import { evaluateConditions } from '../shared/conditions.ts';

const IDENTITY_ONLY = ['range', 'if-match', 'if-range'];

/** Returns false, without any effect, if the client must get identity bytes. */
export async function answerCompressed(
  exchange: Exchange,
  hash: Hash,
  blob: Blob,
  more: Headers,
): Promise<boolean> {
  const { headers: asked, httpVersion } = exchange.request;
  if (httpVersion === '1.0') return false;
  if (blob.size < SERVER.minCompressedBytes || !acceptsZstd(asked['accept-encoding'])) return false;
  if (IDENTITY_ONLY.some((name) => asked[name] !== undefined)) return false;
  const entityTag = `"${hash}-zstd"`;
  const headers = [...BYTES, 'etag', entityTag, ...more];
  if (evaluateConditions(asked, entityTag) === 'known') {
    exchange.answerUnchanged(headers);
    return true;
  }
  const head = [...headers, 'content-encoding', 'zstd'];
  return blob.bytes ? answerSmall(exchange, blob.bytes, head) : answerLarge(exchange, blob, head);
}

function answerSmall(exchange: Exchange, bytes: Buffer, head: Headers): boolean {
  const compressed = compress(bytes);
  if (compressed.length >= bytes.length) return false;
  exchange.answerContent(200, head, compressed);
  return true;
}

async function answerLarge(exchange: Exchange, blob: LargeBlob, head: Headers): Promise<boolean> {
  const { capacity } = exchange.server;
  if (exchange.method === 'HEAD') {
    exchange.begin(200, head);
    exchange.end();
    return true;
  }
  if (capacity.isCrowded || !capacity.compressions.tryAcquire()) return false;
  try {
    await sendCompressed(exchange, blob, head);
  } finally {
    capacity.compressions.release();
  }
  return true;
}

async function sendCompressed(exchange: Exchange, blob: LargeBlob, head: Headers): Promise<void> {
  const { response, server } = exchange;
  const writer = new BodyWriter(response, server.minRate);
  let sent = 0;
  try {
    for await (const piece of compressStream(wholeOf(blob))) {
      if (!response.headersSent) exchange.begin(200, head);
      if (!(await writer.write(piece))) {
        response.destroy();
        return;
      }
      sent += piece.length;
    }
    exchange.end();
  } finally {
    server.metrics.sent(sent);
    writer.close();
  }
}

async function* wholeOf(blob: LargeBlob): AsyncGenerator<Buffer, void, void> {
  let read = 0;
  for await (const chunk of blob.chunks()) {
    read += chunk.length;
    yield chunk;
  }
  if (read !== blob.size) throw truncatedBlob(read, blob.size);
}
