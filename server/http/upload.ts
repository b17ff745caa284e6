// The body of an HTTP request: whole where it is small, as a stream where it is large.
// Guarantee: a body that is announced as too large, or is encoded, is refused before the client sends it.
import type { IncomingMessage } from 'node:http';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { freeBuffer } from '../capacity/buffers.ts';
import { append, BodyReader, tooLarge } from './body-reader.ts';
import type { Exchange } from './exchange.ts';

/** Undefined for a chunked body. A request without Content-Length and Transfer-Encoding has no body. */
export function announcedSize({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

export async function receiveWhole(exchange: Exchange, limit: number): Promise<Buffer> {
  checkAnnounced(exchange.request, limit);
  const pieces: Buffer[] = [];
  await openBody(exchange, limit).readAll((piece) => append(pieces, piece));
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}

/**
 * Reads nothing before the store asks for the first piece. A piece is valid until the store asks for the next
 * one.
 */
export function receiveStream(exchange: Exchange, limit: number): AsyncIterable<Buffer> {
  checkAnnounced(exchange.request, limit);
  return piecesOf(exchange, limit);
}

/**
 * Reads a body that is not wanted to its end, for a client that must not lose the response while it sends. A
 * client that waits for 100 Continue sends none.
 */
export async function dropBody(exchange: Exchange): Promise<void> {
  if (exchange.request.headers.expect !== undefined) return;
  for await (const _piece of piecesOf(exchange, Number.MAX_SAFE_INTEGER));
}

/** A client that sends next to nothing takes no permit from the others. */
async function* piecesOf(exchange: Exchange, limit: number): AsyncGenerator<Buffer, void, void> {
  for await (const batch of openBody(exchange, limit).batches(STORE.inlineBytes)) {
    for (const piece of batch) {
      yield piece;
      freeBuffer(piece);
    }
  }
}

function openBody(exchange: Exchange, maxBytes: number): BodyReader {
  const { request, response, server } = exchange;
  const { minRate } = server;
  const transfer = minRate.begin(() => reader.fail(() => tooSlow(exchange)));
  const reader = new BodyReader(server, {
    stream: request,
    transfer,
    maxBytes,
    onClose: () => minRate.end(transfer),
  });
  /* A client of HTTP/1.0 does not know 100 Continue, and would take it for the answer. */
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue();
  return reader;
}

/** Runs before the first byte is read: a client that waits for 100 Continue has then sent nothing in vain. */
function checkAnnounced(request: IncomingMessage, limit: number): void {
  const size = announcedSize(request);
  checkEncoding(request);
  if (size !== undefined && size > limit) throw tooLarge(limit);
}

/** The store would return an encoded body as it was sent, without the header that says how to decode it. */
function checkEncoding({ headers }: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AssayError('ASSAY_BAD_ENCODING', `a body in ${encoding.slice(0, 80)} is not taken here`);
  if (transfer.toLowerCase() !== 'chunked')
    throw new AssayError('ASSAY_BAD_REQUEST', 'the only Transfer-Encoding taken here is chunked');
}

function tooSlow({ server: { minRate } }: Exchange): AssayError {
  return new AssayError('ASSAY_BODY_TIMEOUT', minRate.rule);
}
