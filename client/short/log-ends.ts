// The first and the last bytes of a log, because a test runner's own words stand at either end.
// Guarantee: it holds at most twice SHORT.logBytes, and the text has a mark where bytes are left out.
import { SHORT } from '../limits.ts';

export class LogEnds {
  #first: Uint8Array[] = [];
  #firstBytes = 0;
  #last: Uint8Array[] = [];
  #lastBytes = 0;
  #isCut = false;

  add(bytes: Uint8Array): void {
    const room = SHORT.logBytes - this.#firstBytes;
    if (room > 0) {
      this.#first.push(bytes.subarray(0, room));
      this.#firstBytes += Math.min(room, bytes.length);
    }
    if (bytes.length > room) this.#addLast(bytes.subarray(Math.max(0, room)));
  }

  #addLast(bytes: Uint8Array): void {
    this.#last.push(bytes);
    this.#lastBytes += bytes.length;
    for (let oldest = this.#last[0]; oldest; oldest = this.#last[0]) {
      if (this.#lastBytes - oldest.length < SHORT.logBytes) break;
      this.#last.shift();
      this.#lastBytes -= oldest.length;
      this.#isCut = true;
    }
  }

  text(): string {
    const last = Buffer.concat(this.#last);
    const isCut = this.#isCut || last.length > SHORT.logBytes;
    const kept = last.subarray(Math.max(0, last.length - SHORT.logBytes));
    return `${Buffer.concat(this.#first).toString()}${isCut ? '\n…\n' : ''}${kept.toString()}`;
  }
}
