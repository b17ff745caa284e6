// Collects a tool's output for the response, up to a limit. The response is one message in memory, so a tool
// with endless output is cut.
import { BAZEL } from './limits.ts';

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

  bytes(): Buffer {
    const cut = `\nassay: the tool wrote more than ${BAZEL.maxOutputBytes} bytes; the rest is omitted\n`;
    return Buffer.concat([...this.#pieces, Buffer.from(this.#isCut ? cut : '')]);
  }
}
