// What a client sends in one call: its one message, or the bytes of many as they come, with a bounded buffer.
//
// Whatever goes wrong (too long, too slow, malformed, the client gone) ends the reading with an error from the catalogue.
import type { ServerHttp2Stream } from 'node:http2';
import { AssayError } from '../../core/errors.ts';
import { Deframer } from '../../core/grpc/frame.ts';
import { type Capacity, memoryFull } from '../capacity/capacity.ts';
import type { Transfer } from '../connection/min-rate.ts';
import type { ServerContext } from '../context.ts';
import type { ServerLimits } from '../limits.ts';
import type { Metrics } from '../pages/metrics.ts';

interface Sink {
  /** What it is given stays in memory until the end: all that is has a bound of its own. */
  readonly isBuffered: boolean;
  data(piece: Buffer): void;
  end(): void;
  fail(error: unknown): void;
}

export class RequestStream {
  readonly #stream: ServerHttp2Stream;
  readonly #limits: ServerLimits;
  readonly #metrics: Metrics;
  readonly #capacity: Capacity;
  readonly #transfer: Transfer;
  #fail: (because: () => unknown) => void = () => {};

  constructor(stream: ServerHttp2Stream, { limits, metrics, capacity }: ServerContext, transfer: Transfer) {
    this.#stream = stream;
    this.#limits = limits;
    this.#metrics = metrics;
    this.#capacity = capacity;
    this.#transfer = transfer;
  }

  /** Ends the reading that is under way. */
  fail(error: AssayError): void {
    this.#fail(() => error);
  }

  /** The call is over, which ends a reading that is still under way. */
  close(): void {
    this.#fail(cutShort);
  }

  one(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const deframer = new Deframer(this.#limits.maxGrpcMessageBytes);
      const messages: Buffer[] = [];
      this.#open({
        isBuffered: true,
        data: (piece) => messages.push(...deframer.push(piece)),
        end: () => {
          const [only, ...more] = messages;
          if (!deframer.isBetweenMessages) reject(cutShort());
          else if (!only || more.length > 0) reject(notOne(messages.length));
          else resolve(only);
        },
        fail: reject,
      });
    });
  }

  /**
   * The framed messages of a stream, in pieces that end anywhere: all that have come since the last look. A look is taken
   * once a turn of the event loop, which brings several pieces of a fast upload together.
   */
  async *pieces(): AsyncGenerator<Buffer[], void, void> {
    await this.#capacity.bodies.acquire();
    try {
      yield* this.#arriving();
    } finally {
      this.#capacity.bodies.release();
    }
  }

  async *#arriving(): AsyncGenerator<Buffer[], void, void> {
    let arrived: Buffer[] = [];
    let arrivedBytes = 0;
    let isOver = false;
    let failure: { readonly reason: unknown } | undefined;
    let look = () => {};
    const close = this.#open({
      isBuffered: false,
      data: (piece) => {
        if (arrived.push(piece) === 1) setImmediate(() => look());
        arrivedBytes += piece.length;
        if (arrivedBytes >= this.#limits.uploadBufferBytes) this.#pause();
      },
      end: () => {
        isOver = true;
        look();
      },
      fail: (reason) => {
        failure = { reason };
        look();
      },
    });
    try {
      while (true) {
        const pieces = arrived;
        arrived = [];
        arrivedBytes = 0;
        if (pieces.length > 0) yield pieces;
        else if (failure) throw failure.reason;
        else if (isOver) return;
        else {
          const somethingNew = new Promise<void>((resolve) => {
            look = resolve;
          });
          this.#resume();
          await somethingNew;
        }
      }
    } finally {
      close();
    }
  }

  #pause(): void {
    this.#transfer.stopWaiting();
    this.#stream.pause();
  }

  #resume(): void {
    this.#transfer.startWaiting();
    this.#stream.resume();
  }

  /** After `end`, `fail` or the returned `close` the sink hears nothing more, and what still comes is dropped. */
  #open(sink: Sink): () => void {
    const stream = this.#stream;
    let bytes = 0;
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#transfer.stopWaiting();
      this.#metrics.received(bytes);
      if (sink.isBuffered) this.#capacity.removeRequestBytes(bytes);
      if (stream.isPaused()) stream.resume();
    };
    /** A stream is closed after its end too: the error, which costs a stack trace, is made only if there is one. */
    this.#fail = (because) => {
      if (!isOpen) return;
      close();
      sink.fail(because());
    };
    stream.on('data', (piece: Buffer) => {
      if (!isOpen) return;
      bytes += piece.length;
      this.#transfer.progress(piece.length);
      if (sink.isBuffered) this.#capacity.addRequestBytes(piece.length);
      if (sink.isBuffered && this.#capacity.isRequestMemoryFull) {
        this.#fail(memoryFull);
        return;
      }
      try {
        sink.data(piece);
      } catch (error) {
        this.#fail(() => error);
      }
    });
    stream.on('end', () => {
      if (!isOpen) return;
      close();
      sink.end();
    });
    if (stream.destroyed) this.#fail(cutShort);
    else this.#transfer.startWaiting();
    return close;
  }
}

function notOne(count: number): AssayError {
  return new AssayError('ASSAY_MESSAGE_MALFORMED', `this method takes one message; there are ${count}`);
}

function cutShort(): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', 'the call ended in the middle of a message');
}
