// Prints the logs of steps in one of four modes:
//   stream  at once, with the step's name before each line
//   group   the whole log when its step ends
//   failed  as group, for failed steps only
//   none    never
// A step's standard error goes to ours, in the order in which it was written.
import type { StreamName } from '../process/log.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { GraphEvent } from './events.ts';

export const LOG_MODES = ['stream', 'group', 'failed', 'none'] as const;
export type LogMode = (typeof LOG_MODES)[number];

export type Streams = Readonly<Record<StreamName, Writable>>;

interface Piece {
  readonly stream: StreamName;
  readonly bytes: Uint8Array;
}

const NEWLINE = 0x0a;
const STREAMS: readonly StreamName[] = ['stdout', 'stderr'];

export class LogPrinter {
  readonly #mode: LogMode;
  readonly #streams: Streams;
  readonly #kept = new Map<string, Piece[]>();
  /** Stream mode: the incomplete last line of each stream of each step. */
  readonly #incomplete = new Map<string, Buffer>();

  constructor(mode: LogMode, streams: Streams) {
    this.#mode = mode;
    this.#streams = streams;
  }

  handle({ step, stream, bytes }: Extract<GraphEvent, { type: 'step-log' }>): void {
    if (this.#mode === 'none') return;
    if (this.#mode === 'stream') this.#stream(step, stream, Buffer.from(bytes));
    else this.#kept.set(step, [...(this.#kept.get(step) ?? []), { stream, bytes }]);
  }

  /** True if `print` has something to print for this step. */
  wants(step: string, failed: boolean): boolean {
    return (failed || this.#mode === 'group') && (this.#kept.get(step)?.length ?? 0) > 0;
  }

  /** Prints the kept log and completes its last lines with a newline. */
  print(step: string): void {
    const streams = this.#streams;
    const last = { stdout: NEWLINE, stderr: NEWLINE };
    for (const { stream, bytes } of this.#kept.get(step) ?? []) {
      streams[stream].write(bytes);
      last[stream] = bytes.at(-1) ?? last[stream];
    }
    for (const stream of STREAMS) if (last[stream] !== NEWLINE) streams[stream].write('\n');
  }

  forget(step: string): void {
    this.#kept.delete(step);
    for (const stream of STREAMS) {
      const rest = this.#incomplete.get(`${stream} ${step}`);
      if (rest && rest.length > 0)
        this.#streams[stream].write(prefixLines(step, Buffer.concat([rest, LINE_END])));
      this.#incomplete.delete(`${stream} ${step}`);
    }
  }

  #stream(step: string, stream: StreamName, bytes: Buffer): void {
    const name = `${stream} ${step}`;
    const text = Buffer.concat([this.#incomplete.get(name) ?? Buffer.alloc(0), bytes]);
    const end = text.lastIndexOf(NEWLINE) + 1;
    this.#incomplete.set(name, text.subarray(end));
    if (end === 0) return;
    this.#streams[stream].write(prefixLines(step, text.subarray(0, end)));
  }
}

const LINE_END = Buffer.from('\n');

/** Prefixes whole lines as bytes, because a log need not be UTF-8. */
function prefixLines(step: string, lines: Buffer): Buffer {
  const name = Buffer.from(`${step}: `);
  const parts: Buffer[] = [];
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(NEWLINE, start) + 1;
    parts.push(name, lines.subarray(start, end));
    start = end;
  }
  return Buffer.concat(parts);
}
