// The body of a request: read whole where it is small, as a stream with a bounded buffer where it is not.
//
// Whatever goes wrong (too long, too slow, the client gone) ends the reading with an error from the catalogue. The store
// refuses what it was given until then, because its stream threw.
import type { IncomingMessage } from 'node:http';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { appendBuffer, freeBuffer } from '../capacity/buffers.ts';
import { memoryFull } from '../capacity/capacity.ts';
import type { Transfer } from '../connection/min-rate.ts';
import type { Exchange } from './exchange.ts';

/** So much is copied again for each piece that comes. */
const JOINED_BYTES = 1024;

/** Undefined where the body comes in chunks. A request without either header has no body. */
export function announcedSize({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

export function receiveWhole(exchange: Exchange, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    refuseAnnounced(exchange.request, limit);
    const pieces: Buffer[] = [];
    new Flow(exchange, limit, {
      isBuffered: true,
      data: (piece) => gather(pieces, piece),
      end: () => resolve(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)),
      fail: reject,
    });
  });
}

/** Nothing is read before the store asks for it. A piece is valid until the store asks for the next one. */
export function receiveStream(exchange: Exchange, limit: number): AsyncIterable<Buffer> {
  refuseAnnounced(exchange.request, limit);
  return new UploadStream(exchange, limit);
}

/** Small ones are joined: what holds a piece is some hundred bytes, and a slow client sends its body byte by byte. */
function gather(pieces: Buffer[], piece: Buffer): void {
  const last = pieces.at(-1);
  if (last && last.length + piece.length <= JOINED_BYTES)
    pieces[pieces.length - 1] = appendBuffer(last, piece);
  else pieces.push(piece);
}

/** Before the first byte: a client that waits for our word has then sent nothing in vain. */
function refuseAnnounced(request: IncomingMessage, limit: number): void {
  const size = announcedSize(request);
  refuseEncoded(request);
  if (size !== undefined && size > limit) throw tooLarge(limit);
}

/** It would come back as it was sent, and nobody would be told to decode it. */
function refuseEncoded({ headers }: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AssayError('ASSAY_BAD_ENCODING', `a body in ${encoding.slice(0, 80)} is not taken here`);
  if (transfer.toLowerCase() !== 'chunked')
    throw new AssayError('ASSAY_BAD_REQUEST', 'the only Transfer-Encoding taken here is chunked');
}

class UploadStream implements AsyncIterable<Buffer> {
  readonly #exchange: Exchange;
  readonly #limit: number;
  #arrived: Buffer[] = [];
  #arrivedBytes = 0;
  #ended = false;
  #failure: AssayError | undefined;
  #wake: () => void = () => {};

  constructor(exchange: Exchange, limit: number) {
    this.#exchange = exchange;
    this.#limit = limit;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    const { bodies } = this.#exchange.server.capacity;
    const flow = this.#open();
    try {
      await this.#worthAPlace(flow);
      await bodies.acquire();
    } catch (error) {
      flow.close();
      throw error;
    }
    try {
      while (true) {
        if (this.#failure) throw this.#failure;
        for (const piece of this.#takeArrived()) {
          yield piece;
          freeBuffer(piece);
        }
        if (this.#arrived.length === 0 && this.#ended) return;
        if (this.#arrived.length === 0) await this.#somethingNew(flow);
      }
    } finally {
      flow.close();
      bodies.release();
    }
  }

  #open(): Flow {
    const { uploadBufferBytes } = this.#exchange.server.limits;
    const flow = new Flow(this.#exchange, this.#limit, {
      isBuffered: false,
      data: (piece) => {
        gather(this.#arrived, piece);
        this.#arrivedBytes += piece.length;
        if (this.#arrivedBytes >= uploadBufferBytes) flow.pause();
        this.#wake();
      },
      end: () => {
        this.#ended = true;
        this.#wake();
      },
      fail: (error) => {
        this.#failure = error;
        this.#wake();
      },
    });
    return flow;
  }

  /** Who sends next to nothing takes no place from those who do. */
  async #worthAPlace(flow: Flow): Promise<void> {
    while (this.#arrivedBytes < STORE.inlineBytes && !this.#ended && !this.#failure) {
      await this.#somethingNew(flow);
    }
    if (this.#failure) throw this.#failure;
    flow.pause();
  }

  #takeArrived(): Buffer[] {
    const pieces = this.#arrived;
    this.#arrived = [];
    this.#arrivedBytes = 0;
    return pieces;
  }

  #somethingNew(flow: Flow): Promise<void> {
    flow.resume();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

interface Sink {
  /** What it is given stays in memory until the end: all that is has a bound of its own. */
  readonly isBuffered: boolean;
  data(piece: Buffer): void;
  end(): void;
  fail(error: AssayError): void;
}

/** From a request to a sink, under the limits: after `end`, `fail` or `close` the sink hears nothing more. */
class Flow {
  readonly #exchange: Exchange;
  readonly #limit: number;
  readonly #sink: Sink;
  readonly #transfer: Transfer;
  #bytes = 0;
  #isPaused = false;
  #isOver = false;

  constructor(exchange: Exchange, limit: number, sink: Sink) {
    this.#exchange = exchange;
    this.#limit = limit;
    this.#sink = sink;
    this.#transfer = exchange.server.minRate.begin(() => this.#fail(() => tooSlow(exchange)));
    const { request, response } = exchange;
    if (request.headers.expect !== undefined) response.writeContinue();
    this.#transfer.startWaiting();
    request.on('data', (piece: Buffer) => this.#data(piece));
    request.on('end', () => this.#end());
    request.on('close', () => this.#fail(cutShort));
    if (request.readableEnded) this.#end();
    else if (request.destroyed) this.#fail(cutShort);
  }

  pause(): void {
    this.#isPaused = true;
    this.#transfer.stopWaiting();
    this.#exchange.request.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#transfer.startWaiting();
    this.#exchange.request.resume();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { minRate, metrics, capacity } = this.#exchange.server;
    if (this.#sink.isBuffered) capacity.removeRequestBytes(this.#bytes);
    minRate.end(this.#transfer);
    metrics.received(this.#bytes);
  }

  #data(piece: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += piece.length;
    this.#transfer.progress(piece.length);
    const { capacity } = this.#exchange.server;
    if (this.#sink.isBuffered) capacity.addRequestBytes(piece.length);
    if (this.#bytes > this.#limit) this.#fail(() => tooLarge(this.#limit));
    else if (this.#sink.isBuffered && capacity.isRequestMemoryFull) this.#fail(memoryFull);
    else this.#sink.data(piece);
  }

  #end(): void {
    if (this.#isOver) return;
    this.close();
    this.#sink.end();
  }

  /** A request is closed after its end too: the error, which costs a stack trace, is made only if there is one. */
  #fail(because: () => AssayError): void {
    if (this.#isOver) return;
    this.close();
    this.#sink.fail(because());
  }
}

function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit for this address is ${limit} bytes`);
}

function tooSlow({ server: { minRate } }: Exchange): AssayError {
  return new AssayError('ASSAY_BODY_TIMEOUT', minRate.rule);
}

function cutShort(): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', 'the connection ended before the body did');
}
