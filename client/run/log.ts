// What a command said: the bytes of its two streams, and in which order they came, so that a replay reads like the run.
import { RUN } from '../limits.ts';
import type { Writable } from '../terminal/sync-stream.ts';

export type StreamName = 'stdout' | 'stderr';

export interface LogPiece {
  readonly stream: StreamName;
  readonly bytes: Uint8Array;
}

export interface Log {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Lengths of runs, alternating, stdout first. */
  readonly order: readonly number[];
}

/** Says it again, as the command did. */
export function replay(log: Log, to: Readonly<Record<StreamName, Writable>>): void {
  for (const { stream, bytes } of pieces(log)) to[stream].write(bytes);
}

/** Gathers a log while it is spoken; stops keeping it, but not listening, when there is too much. */
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
 * Bytes that come piece by piece, kept once. What is longer than a few pieces moves into room for the longest log: the system
 * gives memory only to the part of it that has been written.
 */
class GrowingBytes {
  #room = Buffer.alloc(0);
  #length = 0;

  add(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#room.length) this.#grow(needed);
    bytes.copy(this.#room, this.#length);
    this.#length = needed;
  }

  bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const size = needed > RUN.logRoomBytes ? RUN.maxLogBytes : Math.min(2 * needed, RUN.logRoomBytes);
    const room = Buffer.allocUnsafeSlow(size);
    this.#room.copy(room, 0, 0, this.#length);
    this.#room = room;
  }
}

/** The log cut back into pieces in their order; without a known order stdout comes before stderr. */
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

/** Lengths of runs, alternating, stdout first. */
class RunLengths {
  readonly lengths: number[] = [0];
  #current: StreamName = 'stdout';

  add(stream: StreamName, length: number): void {
    if (stream !== this.#current) this.lengths.push(0);
    this.#current = stream;
    this.lengths[this.lengths.length - 1] = (this.lengths.at(-1) ?? 0) + length;
  }
}
