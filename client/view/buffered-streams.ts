// Buffers small writes to stdout and stderr, so that a thousand lines become one system call.
// Order is kept across both streams. The buffer is flushed once per event loop iteration, or when it is full.
import { GRAPH } from '../limits.ts';
import type { StreamName } from '../process/log.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { Streams } from './log-printer.ts';

export class BufferedStreams implements Streams {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly #to: Streams;
  #stream: StreamName = 'stderr';
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isScheduled = false;

  constructor(to: Streams) {
    this.#to = to;
    this.stdout = { write: (data) => this.#append('stdout', data) };
    this.stderr = { write: (data) => this.#append('stderr', data) };
  }

  flush(): void {
    if (this.#bytes > 0) this.#to[this.#stream].write(Buffer.concat(this.#pieces));
    this.#pieces = [];
    this.#bytes = 0;
  }

  #append(stream: StreamName, data: string | Uint8Array): void {
    if (stream !== this.#stream) this.flush();
    this.#stream = stream;
    const piece = Buffer.from(data);
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > GRAPH.streamBufferBytes) this.flush();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }
}
