// Sends a blob as a response body.
// Guarantee: a client never accepts a truncated or damaged blob. The response announces the length, and a
// blob that ends early or fails verification cuts the connection before that length.
import type { Blob, LargeBlob } from '../../store/store.ts';
import { BodyWriter } from './body-writer.ts';
import type { Headers } from './error-response.ts';
import type { Exchange } from './exchange.ts';
import { type ByteRange, parseRange } from './range.ts';
import { sendLargeBlob, truncatedBlob } from './send-blob.ts';

/** Sends the range, or else the whole blob. A small blob, as most are, needs no promise. */
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

/** Sends the head with the first bytes: an error of the store before them becomes an error response. */
async function sendChunks(
  exchange: Exchange,
  blob: LargeBlob,
  range: ByteRange,
  begin: () => void,
): Promise<void> {
  const { response, server } = exchange;
  const writer = new BodyWriter(response, server.minRate);
  try {
    const { bytes, isDelivered } = await sendLargeBlob(server, blob, range, (chunk) => {
      if (!response.headersSent) begin();
      return writer.write(chunk);
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

/** The range that the header asks for, unless If-Range names another entity tag. */
export function requestedRange(
  exchange: Exchange,
  header: string,
  size: number,
  entityTag: string,
): ByteRange | 'unsatisfiable' | undefined {
  const { 'if-range': condition } = exchange.request.headers;
  const isHonoured = exchange.method === 'GET' && (condition === undefined || condition === entityTag);
  return isHonoured ? parseRange(header, size) : undefined;
}

function contentRange({ offset, length }: ByteRange, size: number): string {
  return `bytes ${offset}-${offset + length - 1}/${size}`;
}
