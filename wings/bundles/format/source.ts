// The bytes of a bundle in order: of a file, where what is not wanted is skipped, or of a pipe.
import { closeSync, fstatSync } from 'node:fs';
import { openFile, readFully } from '../../../system/files/calls.ts';
import { damaged } from './tar.ts';

export interface Source {
  readonly position: number;
  /** Exactly so many bytes. */
  read(bytes: number): Promise<Buffer>;
  skip(bytes: number): Promise<void>;
  isAtEnd(): Promise<boolean>;
  close(): void;
}

export async function fileSource(path: string): Promise<Source> {
  const file = await openFile(path, 'r');
  if (!fstatSync(file).isFile()) return streamSource(openedStream(file), () => closeSync(file));
  return new FileSource(file, fstatSync(file).size);
}

class FileSource implements Source {
  position = 0;
  readonly #file: number;
  readonly #size: number;

  constructor(file: number, size: number) {
    this.#file = file;
    this.#size = size;
  }

  async read(bytes: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(bytes);
    if ((await readFully(this.#file, buffer, this.position)) < bytes) throw endsEarly(this.#size);
    this.position += bytes;
    return buffer;
  }

  async skip(bytes: number): Promise<void> {
    if (this.position + bytes > this.#size) throw endsEarly(this.#size);
    this.position += bytes;
  }

  async isAtEnd(): Promise<boolean> {
    return this.position === this.#size;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A pipe has no positions to read at. */
async function* openedStream(file: number): AsyncGenerator<Buffer> {
  const { createReadStream } = await import('node:fs');
  yield* createReadStream('', { fd: file, autoClose: false });
}

export function streamSource(stream: AsyncIterable<Buffer>, close = () => {}): Source {
  return new StreamSource(stream, close);
}

class StreamSource implements Source {
  position = 0;
  readonly #pieces: AsyncIterator<Buffer>;
  readonly close: () => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>, close: () => void) {
    this.#pieces = stream[Symbol.asyncIterator]();
    this.close = close;
  }

  async read(bytes: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for await (const piece of this.#take(bytes)) taken.push(piece);
    return taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken);
  }

  async skip(bytes: number): Promise<void> {
    for await (const _ of this.#take(bytes));
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#next());
  }

  async *#take(bytes: number): AsyncGenerator<Buffer> {
    for (let wanted = bytes; wanted > 0; ) {
      if (this.#rest.length === 0 && !(await this.#next())) throw endsEarly(this.position);
      const piece = this.#rest.subarray(0, wanted);
      this.#rest = this.#rest.subarray(piece.length);
      this.position += piece.length;
      wanted -= piece.length;
      yield piece;
    }
  }

  /** False at the end. */
  async #next(): Promise<boolean> {
    do {
      const { value, done } = await this.#pieces.next();
      if (done) return false;
      this.#rest = value;
    } while (this.#rest.length === 0);
    return true;
  }
}

function endsEarly(at: number) {
  return damaged(`the bundle ends after ${at} bytes, in its middle`);
}
