// An index of all declared outputs: which step writes a path, and which outputs lie below a folder.
import { parentOf, type RelPath, ROOT } from '../../core/path.ts';
import type { Step } from './step.ts';

export interface IndexedOutput {
  readonly path: RelPath;
  /** The id of the step that writes it. */
  readonly maker: string;
}

export class OutputIndex {
  readonly #makers = new Map<RelPath, string>();
  readonly #sorted: readonly RelPath[];

  constructor(steps: Iterable<Pick<Step, 'id' | 'outputs'>>) {
    for (const { id, outputs } of steps) for (const output of outputs) this.#makers.set(output, id);
    this.#sorted = [...this.#makers.keys()].sort();
  }

  /** The output that is `path` or contains it. */
  around(path: RelPath): IndexedOutput | undefined {
    for (let at = path; at !== ROOT; at = parentOf(at)) {
      const maker = this.#makers.get(at);
      if (maker !== undefined) return { path: at, maker };
    }
    return undefined;
  }

  /** The outputs inside a folder, without the folder itself. */
  *below(folder: RelPath): Generator<IndexedOutput> {
    const prefix = folder === ROOT ? '' : `${folder}/`;
    for (let at = this.#firstFrom(prefix); ; at++) {
      const path = this.#sorted[at];
      if (path === undefined || !path.startsWith(prefix)) return;
      yield { path, maker: this.#makers.get(path) ?? '' };
    }
  }

  #firstFrom(prefix: string): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? '') < prefix) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
