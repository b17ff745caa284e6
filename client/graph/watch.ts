// Waits until something changes in a workspace that a watched graph goes by (watched-paths.ts), and until it has settled.
import { type FSWatcher, watch } from 'node:fs';
import { GRAPH } from '../limits.ts';

/** Never anybody's input, and always moving. */
const UNWATCHED = /(^|\/)(\.git|\.assay|node_modules)(\/|$)/;

/** Listens from the moment that it is made, so that a change during a run is not lost. */
export class Changes {
  readonly #watcher: FSWatcher;
  /** In the order in which they came; what is not known to matter waits here for the end of the run. */
  readonly #pending = new Set<string>();
  #counts: (path: string) => boolean = () => false;
  #first: string | undefined;
  #wake: (() => void) | undefined;

  constructor(root: string) {
    this.#watcher = watch(root, { recursive: true }, (_, name) => {
      if (name === null || UNWATCHED.test(name)) return;
      if (this.#wake) this.#consider(name);
      else if (this.#pending.size < GRAPH.watchedChanges) this.#pending.add(name);
    });
  }

  /** The first path that counts of those that changed since the last time; undefined if `end` came before. */
  async next(end: Promise<void>, counts: (path: string) => boolean): Promise<string | undefined> {
    this.#counts = counts;
    this.#first = undefined;
    const changed = new Promise<'changed'>((resolve) => {
      this.#wake = () => resolve('changed');
    });
    for (const name of this.#pending) this.#consider(name);
    this.#pending.clear();
    const came = await Promise.race([changed, end]);
    if (came !== 'changed') return undefined;
    await new Promise((resolve) => setTimeout(resolve, GRAPH.watchSettleMs));
    this.#wake = undefined;
    return this.#first;
  }

  #consider(name: string): void {
    if (this.#first !== undefined || !this.#counts(name)) return;
    this.#first = name;
    this.#wake?.();
  }

  close(): void {
    this.#watcher.close();
  }
}
