// The view for machines: one line of JSON on standard output for each event (docs/EVENTS.md).
import { isUtf8 } from 'node:buffer';
import type { Writable } from '../terminal/sync-stream.ts';
import type { GraphEvent } from './events.ts';

export class JsonView {
  readonly #out: Writable;

  constructor(out: Writable) {
    this.#out = out;
  }

  handle(event: GraphEvent): void {
    this.#out.write(`${JSON.stringify(lineOf(event))}\n`);
  }
}

function lineOf(event: GraphEvent): object {
  if (event.type === 'step-log') return logLine(event);
  return event.type === 'step-finished' ? { actionLease: 'none', leaseWaitedMs: 0, ...event } : event;
}

/** Bytes that are not UTF-8 are sent as base64. */
function logLine({ type, step, stream, bytes }: Extract<GraphEvent, { type: 'step-log' }>): object {
  const buffer = Buffer.from(bytes);
  return isUtf8(buffer)
    ? { type, step, stream, text: buffer.toString() }
    : { type, step, stream, base64: buffer.toString('base64') };
}
