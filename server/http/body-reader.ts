// Reads the body of an HTTP request or of a gRPC call, whole or in batches with a bounded buffer.
// Guarantee: a body that is too long, too slow or cut short ends the read with an error of the catalogue. The
// consumer of a partial body therefore never sees its end, and the store keeps nothing of it.
import type { Readable } from 'node:stream';
import { AssayError } from '../../core/errors.ts';
import { appendBuffer } from '../capacity/buffers.ts';
import { memoryFull } from '../capacity/capacity.ts';
import type { Transfer } from '../capacity/min-rate.ts';
import type { ServerContext } from '../context.ts';

/**
 * A piece is appended to the last one up to this size, because each Buffer object costs some hundred bytes.
 */
const APPENDED_BYTES = 1024;

interface BodySource {
  readonly stream: Readable;
  /** The minimum rate of the body: the reader reports waiting and progress to it. */
  readonly transfer: Transfer;
  readonly maxBytes: number;
  /** Called once, when the read has ended for any reason. */
  onClose(): void;
}

interface Sink {
  /** The pieces stay in memory until the end, so they count against the memory for requests. */
  readonly isBuffered: boolean;
  /** May throw, which fails the read. */
  data(piece: Buffer): void;
  end(): void;
  fail(error: unknown): void;
}

export class BodyReader {
  readonly #server: Pick<ServerContext, 'capacity' | 'limits' | 'metrics'>;
  readonly #source: BodySource;
  #sink: Sink | undefined;
  #bytes = 0;
  #isPaused = false;

  constructor(server: Pick<ServerContext, 'capacity' | 'limits' | 'metrics'>, source: BodySource) {
    this.#server = server;
    this.#source = source;
  }

  /** Passes every piece to `onPiece`. Resolves at the end of the body. */
  readAll(onPiece: (piece: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#open({ isBuffered: true, data: onPiece, end: resolve, fail: reject });
    });
  }

  /**
   * The pieces that have arrived since the last batch. It reads ahead by SERVER.uploadBufferBytes at most. A
   * wait ends in the next iteration of the event loop, so that a batch has all the pieces of one.
   *
   * The body holds a permit of `capacity.bodies`, which it gets once `bytesBeforePermit` have arrived.
   */
  async *batches(bytesBeforePermit = 0): AsyncGenerator<Buffer[], void, void> {
    const { bodies } = this.#server.capacity;
    const queue = new PieceQueue();
    try {
      if (bytesBeforePermit > 0) this.#fill(queue);
      while (queue.bytes < bytesBeforePermit && !queue.isOver) await this.#more(queue);
      queue.throwIfFailed();
      this.#pause();
      await bodies.acquire();
    } catch (error) {
      this.#close();
      throw error;
    }
    try {
      if (bytesBeforePermit === 0) this.#fill(queue);
      while (true) {
        const batch = queue.take();
        if (batch.length > 0) yield batch;
        else if (!queue.isOver) await this.#more(queue);
        else return queue.throwIfFailed();
      }
    } finally {
      this.#close();
      bodies.release();
    }
  }

  #fill(queue: PieceQueue): void {
    const { uploadBufferBytes } = this.#server.limits;
    this.#open({
      isBuffered: false,
      data: (piece) => {
        queue.push(piece);
        if (queue.bytes >= uploadBufferBytes) this.#pause();
      },
      end: () => queue.end(),
      fail: (reason) => queue.end({ reason }),
    });
  }

  #more(queue: PieceQueue): Promise<void> {
    this.#resume();
    return queue.change();
  }

  /** Ends the read. The error, which costs a stack trace, is made only if a read is under way. */
  fail(error: () => unknown): void {
    const sink = this.#sink;
    if (!sink) return;
    this.#close();
    sink.fail(error());
  }

  #open(sink: Sink): void {
    const { stream, transfer } = this.#source;
    this.#sink = sink;
    transfer.startWaiting();
    stream.on('data', (piece: Buffer) => this.#data(piece));
    stream.on('end', () => this.#end());
    stream.on('close', () => this.fail(cutShort));
    if (stream.readableEnded) this.#end();
    else if (stream.destroyed) this.fail(cutShort);
  }

  #pause(): void {
    if (!this.#sink || this.#isPaused) return;
    this.#isPaused = true;
    this.#source.transfer.stopWaiting();
    this.#source.stream.pause();
  }

  #resume(): void {
    if (!this.#sink || !this.#isPaused) return;
    this.#isPaused = false;
    this.#source.transfer.startWaiting();
    this.#source.stream.resume();
  }

  #data(piece: Buffer): void {
    const sink = this.#sink;
    if (!sink) return;
    const { capacity } = this.#server;
    this.#bytes += piece.length;
    this.#source.transfer.progress(piece.length);
    if (sink.isBuffered) capacity.addRequestBytes(piece.length);
    if (this.#bytes > this.#source.maxBytes) this.fail(() => tooLarge(this.#source.maxBytes));
    else if (sink.isBuffered && capacity.isRequestMemoryFull) this.fail(memoryFull);
    else this.#pass(sink, piece);
  }

  #pass(sink: Sink, piece: Buffer): void {
    try {
      sink.data(piece);
    } catch (error) {
      this.fail(() => error);
    }
  }

  #end(): void {
    const sink = this.#sink;
    if (!sink) return;
    this.#close();
    sink.end();
  }

  /** The sink gets nothing more. Bytes that still arrive are dropped. */
  #close(): void {
    const sink = this.#sink;
    if (!sink) return;
    this.#sink = undefined;
    const { capacity, metrics } = this.#server;
    if (sink.isBuffered) capacity.removeRequestBytes(this.#bytes);
    this.#source.transfer.stopWaiting();
    metrics.received(this.#bytes);
    this.#source.onClose();
  }
}

/** Pieces that have arrived and that the consumer has not taken yet. */
class PieceQueue {
  bytes = 0;
  isOver = false;
  #failure: { readonly reason: unknown } | undefined;
  #pieces: Buffer[] = [];
  #wake: () => void = () => {};
  #willWake = false;

  push(piece: Buffer): void {
    append(this.#pieces, piece);
    this.bytes += piece.length;
    if (this.#willWake) return;
    this.#willWake = true;
    setImmediate(() => {
      this.#willWake = false;
      this.#wake();
    });
  }

  end(failure?: { readonly reason: unknown }): void {
    this.isOver = true;
    this.#failure = failure;
    this.#wake();
  }

  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.reason;
  }

  take(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.bytes = 0;
    return pieces;
  }

  /** Resolves after the next push or end. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** A slow client sends its body byte by byte: small pieces share one Buffer. */
export function append(pieces: Buffer[], piece: Buffer): void {
  const last = pieces.at(-1);
  if (last && last.length + piece.length <= APPENDED_BYTES)
    pieces[pieces.length - 1] = appendBuffer(last, piece);
  else pieces.push(piece);
}

export function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit for this address is ${limit} bytes`);
}

function cutShort(): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', 'the request ended before its body did');
}
