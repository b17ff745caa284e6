// Standard output and standard error, written synchronously.
// When `write` returns, the bytes are written, so both streams keep their order.
//
// process.stdout and process.stderr load Node's streams, which costs 5 ms of a hit. So only a terminal's
// width is asked of them, for a line that may not fit. On Bun they write later, so the order of lines on the
// two streams could change.
import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { isSystemError } from '../../core/errors.ts';
import { visible } from '../../core/text/visible.ts';
import { RUN } from '../limits.ts';

/**
 * Linux device numbers that decide isTTY quickly: /dev/null is no terminal, a pseudo-terminal is one.
 * Other character devices need node:tty, which takes 3 ms to load.
 */
const NULL_DEVICE = 0x103;
const FIRST_PTY_MAJOR = 136;
const LAST_PTY_MAJOR = 143;

const NEWLINE = 0x0a;

export interface Writable {
  write(data: string | Uint8Array): unknown;
}

export class SyncStream implements Writable {
  readonly #descriptor: number;
  #readerIsGone = false;
  #lastByte = NEWLINE;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get isTTY(): boolean {
    const stats = fstatSync(this.#descriptor);
    if (!stats.isCharacterDevice() || stats.rdev === NULL_DEVICE) return false;
    return isPseudoTerminal(stats.rdev) || isatty(this.#descriptor);
  }

  /** The width of the terminal, or Infinity if this is not one. Asking for it loads Node's streams. */
  get columns(): number {
    if (!this.isTTY) return Number.POSITIVE_INFINITY;
    const { columns } = this.#descriptor === 1 ? process.stdout : process.stderr;
    return columns || Number.POSITIVE_INFINITY;
  }

  /** The last write did not end with a newline. */
  get isMidLine(): boolean {
    return this.#lastByte !== NEWLINE;
  }

  write(data: string | Uint8Array): void {
    let rest = typeof data === 'string' ? Buffer.from(data) : bufferOver(data);
    this.#lastByte = rest.at(-1) ?? this.#lastByte;
    while (rest.length > 0 && !this.#readerIsGone) rest = rest.subarray(this.#writeSome(rest));
  }

  /** A closed reader (`assay … | head`) is not an error: the rest of the output is dropped. */
  #writeSome(bytes: Buffer): number {
    try {
      return writeSync(this.#descriptor, bytes);
    } catch (error) {
      if (isSystemError(error, 'EAGAIN')) waitForReader();
      else this.#readerIsGone = true;
      return 0;
    }
  }
}

/** A view of the same memory, because a log can be long. */
function bufferOver({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function isPseudoTerminal(device: number): boolean {
  const major = (device >> 8) & 0xfff;
  return major >= FIRST_PTY_MAJOR && major <= LAST_PTY_MAJOR;
}

/** For a full pipe that another process has made non-blocking. */
function waitForReader(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RUN.fullPipeMs);
}

/** Text from outside, without line breaks and tabs: it cannot start a new line or move the cursor. */
export function inOneLine(text: string): string {
  return visible(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '));
}
