// The log of a command: the bytes of stdout and stderr, and the order in which they came.
// A replay writes the same bytes in the same order as the command did.
import { RUN } from '../limits.ts';
import type { Writable } from '../terminal/sync-stream.ts';

export type StreamName = 'stdout' | 'stderr';

interface LogPiece {
  readonly stream: StreamName;
  readonly bytes: Uint8Array;
}

export interface Log {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Run lengths in bytes, alternating between the streams, stdout first. */
  readonly order: readonly number[];
}

export function replay(log: Log, to: Readonly<Record<StreamName, Writable>>): void {
  for (const { stream, bytes } of pieces(log)) to[stream].write(bytes);
}

/** The last bytes of a log, in the order in which they came. */
export function endOfLog(log: Log, bytes: number): Buffer {
  let skipped = Math.max(0, log.stdout.length + log.stderr.length - bytes);
  const kept: Uint8Array[] = [];
  for (const piece of pieces(log)) {
    if (skipped < piece.bytes.length) kept.push(piece.bytes.subarray(skipped));
    skipped = Math.max(0, skipped - piece.bytes.length);
  }
  return Buffer.concat(kept);
}

/** Records a log of at most RUN.maxLogBytes. Beyond that it records nothing more, and `tooLong` is true. */
export class LogRecorder {
  readonly #streams = { stdout: new GrowingBytes(), stderr: new GrowingBytes() };
  readonly #order = new RunLengths();
  #size = 0;

  add(stream: StreamName, bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.tooLong) return;
    this.#streams[stream].add(bytes);
    this.#order.add(stream, bytes.length);
  }

  get tooLong(): boolean {
    return this.#size > RUN.maxLogBytes;
  }

  finish(): Log {
    const { stdout, stderr } = this.#streams;
    return { stdout: stdout.bytes(), stderr: stderr.bytes(), order: this.#order.lengths };
  }
}

/**
 * A growing buffer that never holds the bytes twice for long. A long log moves once into a buffer of the
 * maximum size:
 * the kernel commits memory only for the pages that are written.
 */
class GrowingBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  add(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#buffer.length) this.#grow(needed);
    bytes.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const size = needed > RUN.logBufferBytes ? RUN.maxLogBytes : Math.min(2 * needed, RUN.logBufferBytes);
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** The log as pieces in their order. Without an order, stdout comes before stderr. */
function* pieces({ stdout, stderr, order }: Log): Generator<LogPiece> {
  const rest = { stdout, stderr };
  let stream: StreamName = 'stdout';
  for (const length of order) {
    if (length > 0) yield { stream, bytes: rest[stream].subarray(0, length) };
    rest[stream] = rest[stream].subarray(length);
    stream = stream === 'stdout' ? 'stderr' : 'stdout';
  }
  if (rest.stdout.length > 0) yield { stream: 'stdout', bytes: rest.stdout };
  if (rest.stderr.length > 0) yield { stream: 'stderr', bytes: rest.stderr };
}

/** Run lengths, alternating between the streams, stdout first. */
class RunLengths {
  readonly lengths: number[] = [0];
  #current: StreamName = 'stdout';

  add(stream: StreamName, length: number): void {
    if (stream !== this.#current) this.lengths.push(0);
    this.#current = stream;
    this.lengths[this.lengths.length - 1] = (this.lengths.at(-1) ?? 0) + length;
  }
}
