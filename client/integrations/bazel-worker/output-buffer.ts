// What a tool says while it works on a request. It goes back to Bazel as one message and is in memory until then, so a tool
// that never ends talking is heard to a bound.
import { BAZEL } from '../../limits.ts';

export class OutputBuffer {
  readonly #pieces: Buffer[] = [];
  #left: number = BAZEL.maxOutputBytes;
  #isCut = false;

  write(bytes: string | Uint8Array): void {
    const piece = Buffer.from(bytes);
    const kept = piece.subarray(0, this.#left);
    if (kept.length > 0) this.#pieces.push(kept);
    this.#left -= kept.length;
    this.#isCut ||= kept.length < piece.length;
  }

  whole(): Buffer {
    const cut = `\nassay: the tool said more than ${BAZEL.maxOutputBytes} bytes; the rest is left out\n`;
    return Buffer.concat([...this.#pieces, Buffer.from(this.#isCut ? cut : '')]);
  }
}
