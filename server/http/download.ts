// A blob as the body of an answer. A client can take it for whole only when it is: the length is announced, and where the
// bytes end early or turn out wrong, the connection is cut before that length is reached.
import type { Blob, LargeBlob } from '../../store/store.ts';
import { BodyWriter } from './body-writer.ts';
import type { Headers } from './error-response.ts';
import type { Exchange } from './exchange.ts';
import { type ByteRange, parseRange } from './range.ts';
import { sendLargeBlob, truncatedBlob } from './send-blob.ts';

/** `range` is what the client gets instead of the whole. Nothing is awaited for a small blob, since most are. */
export function sendBlob(
  exchange: Exchange,
  blob: Blob,
  headers: Headers,
  range?: ByteRange,
): Promise<void> | void {
  if (!range && blob.bytes) return exchange.answerContent(200, headers, blob.bytes);
  const { offset, length } = range ?? { offset: 0, length: blob.size };
  const status = range ? 206 : 200;
  const head = range ? [...headers, 'content-range', contentRange(range, blob.size)] : headers;
  if (blob.bytes) return exchange.answerContent(status, head, blob.bytes.subarray(offset, offset + length));
  const begin = () => exchange.begin(status, ['content-length', String(length), ...head]);
  if (exchange.method !== 'HEAD') return sendChunks(exchange, blob, { offset, length }, begin);
  begin();
  exchange.end();
}

/** The head goes out with the first bytes: until then a fault in the store can still be told in an answer. */
async function sendChunks(
  exchange: Exchange,
  blob: LargeBlob,
  range: ByteRange,
  begin: () => void,
): Promise<void> {
  const { response, server } = exchange;
  const writer = new BodyWriter(response, server.minRate);
  try {
    const { bytes, isDelivered } = await sendLargeBlob(server, blob, range, (portion) => {
      if (!response.headersSent) begin();
      return writer.write(portion);
    });
    server.metrics.sent(bytes);
    if (!isDelivered) {
      response.destroy();
      return;
    }
    if (bytes !== range.length) throw truncatedBlob(bytes, range.length);
    exchange.end();
  } finally {
    writer.close();
  }
}

/** The part that the client asks for by Range; it may tie that to an entity tag by If-Range. */
export function requestedRange(
  exchange: Exchange,
  size: number,
  entityTag: string,
): ByteRange | 'unsatisfiable' | undefined {
  const { range: header, 'if-range': condition } = exchange.request.headers;
  const isHonoured = exchange.method === 'GET' && (condition === undefined || condition === entityTag);
  return isHonoured ? parseRange(header, size) : undefined;
}

function contentRange({ offset, length }: ByteRange, size: number): string {
  return `bytes ${offset}-${offset + length - 1}/${size}`;
}
