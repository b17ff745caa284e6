// A blob as the body of an answer. A client can take it for whole only when it is: the length is announced, and where the
// bytes end early or turn out wrong, the connection is cut before that length is reached.
import type { Blob, LargeBlob } from '../../store/store.ts';
import { Outlet } from './body-writer.ts';
import type { Headers } from './error-response.ts';
import type { Exchange } from './exchange.ts';
import { type Span, spanOf } from './range.ts';
import { endedEarly, sendPortions } from './send-blob.ts';

/** `span` is what the client gets instead of the whole. Nothing is awaited for a small blob, since most are. */
export function sendBlob(
  exchange: Exchange,
  blob: Blob,
  headers: Headers,
  span?: Span,
): Promise<void> | void {
  if (!span && blob.bytes) return exchange.answerContent(200, headers, blob.bytes);
  const { offset, length } = span ?? { offset: 0, length: blob.size };
  const status = span ? 206 : 200;
  const head = span ? [...headers, 'content-range', contentRange(span, blob.size)] : headers;
  if (blob.bytes) return exchange.answerContent(status, head, blob.bytes.subarray(offset, offset + length));
  const begin = () => exchange.begin(status, ['content-length', String(length), ...head]);
  if (exchange.method !== 'HEAD') return sendChunks(exchange, blob, { offset, length }, begin);
  begin();
  exchange.end();
}

/** The head goes out with the first bytes: until then a fault in the store can still be told in an answer. */
async function sendChunks(exchange: Exchange, blob: LargeBlob, span: Span, begin: () => void): Promise<void> {
  const { response, server } = exchange;
  const outlet = new Outlet(response, server.pace);
  try {
    const { bytes, isTaken } = await sendPortions(server, blob, span, (portion) => {
      if (!response.headersSent) begin();
      return outlet.write(portion);
    });
    server.metrics.sent(bytes);
    if (!isTaken) {
      response.destroy();
      return;
    }
    if (bytes !== span.length) throw endedEarly(bytes, span.length);
    exchange.end();
  } finally {
    outlet.close();
  }
}

/** The part that the client asks for by Range; it may tie that to an entity tag by If-Range. */
export function askedSpan(exchange: Exchange, size: number, entityTag: string): Span | 'beyond' | undefined {
  const { range, 'if-range': condition } = exchange.request.headers;
  const isHonoured = exchange.method === 'GET' && (condition === undefined || condition === entityTag);
  return isHonoured ? spanOf(range, size) : undefined;
}

function contentRange({ offset, length }: Span, size: number): string {
  return `bytes ${offset}-${offset + length - 1}/${size}`;
}
