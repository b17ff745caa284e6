// Two streams whose small writes are gathered: a thousand lines that are said at once become one system call. What is said
// goes out in its order, at the latest when the process has nothing else to do at once, or when there is much of it.
import { GRAPH } from '../../limits.ts';
import type { StreamName } from '../../run/log.ts';
import type { Writable } from '../../terminal/sync-stream.ts';
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
    this.stdout = { write: (said) => this.#gather('stdout', said) };
    this.stderr = { write: (said) => this.#gather('stderr', said) };
  }

  flush(): void {
    if (this.#bytes > 0) this.#to[this.#stream].write(Buffer.concat(this.#pieces));
    this.#pieces = [];
    this.#bytes = 0;
  }

  #gather(stream: StreamName, said: string | Uint8Array): void {
    if (stream !== this.#stream) this.flush();
    this.#stream = stream;
    const piece = Buffer.from(said);
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
