// A bounded FIFO queue of uploads that run while the build goes on, a few at a time.
import { REMOTE } from '../../client/limits.ts';
import { GOCACHE } from './limits.ts';

export class UploadQueue {
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #workers = new Set<Promise<void>>();

  /** `upload` must not fail. If the queue is full it is dropped, and its entry stays local. */
  add(upload: () => Promise<void>): void {
    if (this.#waiting.length >= GOCACHE.maxUploads) return;
    this.#waiting.push(upload);
    if (this.#workers.size >= REMOTE.concurrency) return;
    const worker = this.#work().finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  async drained(): Promise<void> {
    while (this.#workers.size > 0) await Promise.all(this.#workers);
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await next();
  }
}
