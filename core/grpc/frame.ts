// gRPC frames: a header of five bytes (the compression flag, 0, and the length), then the message.
// Client and server both use them.
import { AssayError } from '../errors.ts';

const HEADER_BYTES = 5;

/** The header of a message of that length. */
export function frameHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = 0;
  header.writeUInt32BE(length, 1);
  return header;
}

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + message.byteLength);
  framed[0] = 0;
  framed.writeUInt32BE(message.byteLength, 1);
  framed.set(message, HEADER_BYTES);
  return framed;
}

/**
 * Splits a stream of pieces into messages. It never holds more than has arrived, whatever length a header
 * announces, and it refuses lengths over `maxBytes`. A message inside one piece is a view of it, not a copy.
 */
export class Deframer {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The bytes that must be held before parsing can continue: a header, or a header and its message. */
  #needed = HEADER_BYTES;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False in the middle of a message. */
  get isBetweenMessages(): boolean {
    return this.#heldBytes === 0;
  }

  push(piece: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    while (this.#heldBytes >= this.#needed) {
      const bytes = this.#joined();
      const length = lengthIn(bytes);
      if (length > this.#maxBytes) throw tooLarge(length, this.#maxBytes);
      const end = HEADER_BYTES + length;
      if (bytes.length < end) {
        this.#needed = end;
        break;
      }
      messages.push(bytes.subarray(HEADER_BYTES, end));
      this.#held = bytes.length > end ? [bytes.subarray(end)] : [];
      this.#heldBytes = bytes.length - end;
      this.#needed = HEADER_BYTES;
    }
    return messages;
  }

  #joined(): Buffer {
    const [first] = this.#held;
    const bytes = this.#held.length === 1 && first ? first : Buffer.concat(this.#held);
    this.#held = [bytes];
    return bytes;
  }
}

function lengthIn(bytes: Buffer): number {
  if (bytes[0] !== 0)
    throw new AssayError('ASSAY_COMPRESSED_MESSAGE', 'the first byte of its frame is not 0');
  return bytes.readUInt32BE(1);
}

function tooLarge(length: number, limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `a message of ${length} bytes; the limit is ${limit}`);
}
