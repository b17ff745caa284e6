// Standard output and standard error, written synchronously: what is said has been said when `write` returns, and in
// the order in which it was said.
//
// process.stdout and process.stderr load Node's streams, which takes 5 ms of a hit that has one line to say, and on Bun
// they write later, so that what one says and what the other says could change places.
import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { isSystemError } from '../../core/errors.ts';
import { RUN } from '../limits.ts';

/**
 * What most often is a character device, by its number on Linux: /dev/null is no terminal, a terminal's window is one. Only for
 * others is it asked, with a module that takes 3 ms to load.
 */
const NULL_DEVICE = 0x103;
const FIRST_WINDOW_MAJOR = 136;
const LAST_WINDOW_MAJOR = 143;

const NEWLINE = 0x0a;

/** Whatever can be spoken to. */
export interface Writable {
  write(said: string | Uint8Array): unknown;
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
    return isWindow(stats.rdev) || isatty(this.#descriptor);
  }

  /** The last thing that was said did not end its line. */
  get isMidLine(): boolean {
    return this.#lastByte !== NEWLINE;
  }

  write(said: string | Uint8Array): void {
    let rest = typeof said === 'string' ? Buffer.from(said) : inPlace(said);
    this.#lastByte = rest.at(-1) ?? this.#lastByte;
    while (rest.length > 0 && !this.#readerIsGone) rest = rest.subarray(this.#writeSome(rest));
  }

  /** A reader that goes away (`assay … | head`) is no reason to fail, and none to speak of. */
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

/** The same memory: a log may be long. */
function inPlace({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function isWindow(device: number): boolean {
  const major = (device >> 8) & 0xfff;
  return major >= FIRST_WINDOW_MAJOR && major <= LAST_WINDOW_MAJOR;
}

/** A pipe that another process has made non-blocking, and that is full. */
function waitForReader(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RUN.fullPipeMs);
}

/** What a remote says, or somebody calls a file, must not be read as a line of its own, or move the cursor. */
export function inOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
