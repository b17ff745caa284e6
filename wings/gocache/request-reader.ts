// Reads the go command's stream: a JSON object per line, some followed by a body, a JSON string of base64. A
// body may exceed memory, so it is decoded while it arrives.

import { AssayError } from '../../core/errors.ts';
import { GOCACHE } from './limits.ts';

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Base64 is decoded in groups of four characters. */
const GROUP = 4;

export class RequestReader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The next line that is not empty; undefined at the end. */
  async line(): Promise<string | undefined> {
    while (true) {
      const end = this.#rest.indexOf(NEWLINE);
      if (end === -1 && this.#rest.length > GOCACHE.maxLineBytes) throw badWire('a line without an end');
      if (end === -1) {
        if (await this.#more()) continue;
        const last = this.#take(this.#rest.length).toString().trim();
        return last === '' ? undefined : last;
      }
      const line = this.#take(end + 1)
        .toString()
        .trim();
      if (line !== '') return line;
    }
  }

  /** The body's bytes. However the reader ends, the stream then stands behind the body. */
  async *body(): AsyncGenerator<Buffer> {
    await this.#openQuote();
    let closed = false;
    let left = Buffer.alloc(0);
    try {
      while (!closed) {
        const next = await this.#untilQuote();
        closed = next.closed;
        const characters = Buffer.concat([left, next.piece]);
        const whole = characters.length - (characters.length % GROUP);
        left = characters.subarray(whole);
        yield decode(characters.subarray(0, whole));
      }
      if (left.length > 0) throw badWire('a body that is not base64');
    } finally {
      while (!closed) ({ closed } = await this.#untilQuote());
    }
  }

  async #openQuote(): Promise<void> {
    while (true) {
      const at = this.#rest.findIndex((byte) => byte !== NEWLINE);
      if (at === -1) {
        this.#rest = Buffer.alloc(0);
        if (!(await this.#more())) throw badWire('the end of the stream instead of a body');
      } else {
        if (this.#rest[at] !== QUOTE) throw badWire('other text instead of a body');
        this.#take(at + 1);
        return;
      }
    }
  }

  /** The received part of a string, up to its closing quote. */
  async #untilQuote(): Promise<{ piece: Buffer; closed: boolean }> {
    if (this.#rest.length === 0 && !(await this.#more()))
      throw badWire('the end of the stream inside a body');
    const end = this.#rest.indexOf(QUOTE);
    if (end === -1) return { piece: this.#take(this.#rest.length), closed: false };
    const piece = this.#take(end);
    this.#take(1);
    return { piece, closed: true };
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

/** Node ignores invalid base64 characters; here they mean that the stream is out of step. */
function decode(characters: Buffer): Buffer {
  const text = characters.toString('latin1');
  if (!BASE64.test(text)) throw badWire('a body that is not base64');
  return Buffer.from(text, 'base64');
}

function badWire(what: string): AssayError {
  return new AssayError('ASSAY_BAD_WIRE', `${what} came from the go command`);
}
