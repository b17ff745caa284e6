// gRPC's frames: five bytes of head (not compressed, the length), then the message. Used by both sides of a connection.
import { AssayError } from '../errors.ts';

const HEAD_BYTES = 5;

/** The head of a message of that length. */
export function frameHead(length: number): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head[0] = 0;
  head.writeUInt32BE(length, 1);
  return head;
}

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.byteLength);
  framed[0] = 0;
  framed.writeUInt32BE(message.byteLength, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
}

/**
 * Messages out of pieces that end anywhere. A message that lies in one piece is a view of it; what is held of an
 * unfinished one is never more than has arrived, whatever length it announces, and that length has a limit.
 */
export class Deframer {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** How many bytes must be held before there is more to know: a head, or a head with its message. */
  #needed = HEAD_BYTES;

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
      const end = HEAD_BYTES + length;
      if (bytes.length < end) {
        this.#needed = end;
        break;
      }
      messages.push(bytes.subarray(HEAD_BYTES, end));
      this.#held = bytes.length > end ? [bytes.subarray(end)] : [];
      this.#heldBytes = bytes.length - end;
      this.#needed = HEAD_BYTES;
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
