// Waits until something changes in a workspace that is no step's output, and until it has settled.
import { type FSWatcher, watch } from 'node:fs';
import { GRAPH } from '../../core/limits.ts';
import { relPathFromUser } from '../../core/path.ts';
import { isOutput } from './affected.ts';
import type { StepTable } from './graph.ts';

/** Never anybody's input, and always moving. */
const UNWATCHED = /(^|\/)(\.git|\.assay|node_modules)(\/|$)/;

/** Listens from the moment that it is made, so that a change during a run is not lost. */
export class Changes {
  readonly #watcher: FSWatcher;
  #pending: string | undefined;
  #wake: (() => void) | undefined;

  constructor(root: string, steps: () => StepTable) {
    this.#watcher = watch(root, { recursive: true }, (_, name) => {
      if (name === null || UNWATCHED.test(name) || isOutput(relPathFromUser(name), steps())) return;
      this.#pending ??= name;
      this.#wake?.();
    });
  }

  /** The first path that changed since the last time; undefined if `end` came before. */
  async next(end: Promise<void>): Promise<string | undefined> {
    let ended = false;
    const changed = new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#pending !== undefined) resolve();
    });
    await Promise.race([
      changed,
      end.then(() => {
        ended = true;
      }),
    ]);
    if (ended) return undefined;
    await new Promise((resolve) => setTimeout(resolve, GRAPH.watchSettleMs));
    const first = this.#pending;
    this.#pending = undefined;
    return first;
  }

  close(): void {
    this.#watcher.close();
  }
}
