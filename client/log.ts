// What a command said: the bytes of its two streams, and in which order they came, so that a replay reads like the run.
import { RUN } from '../core/limits.ts';
import type { Ear } from './outlet.ts';

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
export function replay(log: Log, to: Readonly<Record<StreamName, Ear>>): void {
  for (const { stream, bytes } of pieces(log)) to[stream].write(bytes);
}

/** Gathers a log while it is spoken; stops keeping it, but not listening, when there is too much. */
export class LogRecorder {
  readonly #pieces: LogPiece[] = [];
  #size = 0;

  add(stream: StreamName, bytes: Buffer): void {
    this.#size += bytes.length;
    if (!this.tooLong) this.#pieces.push({ stream, bytes });
  }

  get tooLong(): boolean {
    return this.#size > RUN.maxLogBytes;
  }

  finish(): Log {
    const join = (name: StreamName) =>
      Buffer.concat(this.#pieces.filter(({ stream }) => stream === name).map(({ bytes }) => bytes));
    return { stdout: join('stdout'), stderr: join('stderr'), order: runLengths(this.#pieces) };
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

function runLengths(spoken: readonly LogPiece[]): number[] {
  const lengths = [0];
  let current: StreamName = 'stdout';
  for (const { stream, bytes } of spoken) {
    if (stream !== current) {
      lengths.push(0);
      current = stream;
    }
    lengths[lengths.length - 1] = (lengths.at(-1) ?? 0) + bytes.length;
  }
  return lengths;
}
