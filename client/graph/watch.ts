// Watches the workspace for --watch: waits for a change that concerns the graph, then for the changes to
// settle.
import { type FSWatcher, watch } from 'node:fs';
import { GRAPH } from '../limits.ts';

/** Never inputs, and they change often. */
const NEVER_WATCHED = /(^|\/)(\.git|\.assay|node_modules)(\/|$)/;

/** Watches from its creation, so that a change during a run is not lost. */
export class ChangeWatcher {
  readonly #watcher: FSWatcher;
  /** Paths that changed during the run, in order. `next` decides which of them count. */
  readonly #pending = new Set<string>();
  #counts: (path: string) => boolean = () => false;
  #first: string | undefined;
  #wake: (() => void) | undefined;

  constructor(root: string) {
    this.#watcher = watch(root, { recursive: true }, (_, name) => {
      if (name === null || NEVER_WATCHED.test(name)) return;
      if (this.#wake) this.#consider(name);
      else if (this.#pending.size < GRAPH.watchedChanges) this.#pending.add(name);
    });
  }

  /** The first changed path that counts; undefined if `end` came first. */
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
