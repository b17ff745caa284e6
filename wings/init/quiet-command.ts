// Says once that a command prints nothing: a watcher or a server never ends, and init waits for it.
// It ends nothing: a slow command may be quiet, too.
import type { Writable } from '../../client/terminal/sync-stream.ts';

export class QuietCommand {
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number, say: () => void) {
    this.#timer = setTimeout(say, ms);
  }

  /** The stream, whose writes begin the time anew. */
  listened(stream: Writable): Writable {
    return {
      write: (data) => {
        this.#timer.refresh();
        return stream.write(data);
      },
    };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
