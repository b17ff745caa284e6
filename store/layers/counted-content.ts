// Content for which space is reserved piece by piece, as it arrives.
// It can be cancelled at any time, even while its sender is silent. It is no async generator, which would cost
// each piece several promises more.
import type { Content } from '../store.ts';
import type { IncomingWrite, Reservation, SpaceLimit } from './limit.ts';

export interface CountedSize extends Omit<IncomingWrite, 'cancel'> {
  /** The engine counts all but so many of the last bytes as usage, so their reservation ends. */
  readonly uncountedBytes: number;
}

type Piece = IteratorResult<Uint8Array>;

export class CountedContent implements AsyncIterable<Uint8Array> {
  readonly #reservation: Reservation;
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #uncountedBytes: number;
  /** Bytes that the consumer has stored and the engine does not count yet. */
  #uncounted = 0;
  #piece = 0;
  #cancelled: { readonly error: unknown } | undefined;
  #isOver = false;
  #fail: (error: unknown) => void = () => {};

  /** Throws if content of the announced size could never fit. */
  constructor(space: SpaceLimit, { announced, staged, uncountedBytes }: CountedSize, content: Content) {
    this.#reservation = space.begin({ announced, staged, cancel: (error) => this.#cancel(error) });
    this.#uncountedBytes = uncountedBytes;
    // A copy, because the write may have to wait and the caller owns the memory.
    this.#pieces =
      content instanceof Uint8Array ? inOnePiece(Buffer.from(content)) : content[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => this.#next() };
  }

  #next(): Promise<Piece> {
    this.#markStored();
    return new Promise((resolve, reject) => {
      if (this.#cancelled) return reject(this.#cancelled.error);
      this.#fail = reject;
      this.#pieces.next().then((piece) => this.#admit(piece, resolve, reject), reject);
    });
  }

  #admit(piece: Piece, resolve: (piece: Piece) => void, reject: (error: unknown) => void): void {
    // A piece that comes after the end of the reservation must reserve nothing.
    if (this.#isOver) return;
    try {
      if (piece.done) this.#reservation.complete();
      this.#piece = piece.done ? 0 : piece.value.byteLength;
      const waiting = this.#reservation.grow(this.#piece);
      if (waiting) waiting.then(() => resolve(piece), reject);
      else resolve(piece);
    } catch (error) {
      reject(error);
    }
  }

  /** A consumer that asks for the next piece has stored the last one. */
  #markStored(): void {
    this.#uncounted += this.#piece;
    this.#piece = 0;
    if (this.#uncounted <= this.#uncountedBytes) return;
    this.#reservation.markStored(this.#uncounted - this.#uncountedBytes);
    this.#uncounted = this.#uncountedBytes;
  }

  #cancel(error: unknown): void {
    this.#cancelled = { error };
    this.#isOver = true;
    this.#fail(error);
  }

  /** Ends the reservation. Does not wait for the sender: one that is gone never answers. */
  close(): void {
    this.#isOver = true;
    this.#pieces.return?.().catch(() => {});
    this.#reservation.end();
  }
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
