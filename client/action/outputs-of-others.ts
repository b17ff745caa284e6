// The outputs of steps that a step of a graph does not depend on.
// The outputs of all steps are indexed once for a graph: a graph of 1,000 steps would else index them 1,000 times.
import { parentOf, type RelPath, ROOT } from '../../core/path.ts';

export class GraphOutputs {
  /** The step that makes an output. */
  readonly owners = new Map<string, string>();
  /** Each folder around outputs, with the names in it that lead to outputs, and the steps that make these. */
  readonly around = new Map<RelPath, Map<string, Set<string>>>();

  constructor(steps: Iterable<{ readonly id: string; readonly outputs: readonly RelPath[] }>) {
    for (const { id, outputs } of steps) {
      for (const output of outputs) {
        this.owners.set(output, id);
        this.#noteFolders(output, id);
      }
    }
  }

  #noteFolders(output: RelPath, id: string): void {
    for (let at = output; at !== ROOT; at = parentOf(at)) {
      const folder = parentOf(at);
      const name = at.slice(folder === ROOT ? 0 : folder.length + 1);
      const names = this.around.get(folder) ?? new Map<string, Set<string>>();
      this.around.set(folder, names);
      names.set(name, (names.get(name) ?? new Set()).add(id));
    }
  }
}

export class OutputsOfOthers {
  readonly #all: GraphOutputs;
  readonly #known: ReadonlySet<string>;

  /** `known`: the step itself, and all that it depends on. */
  constructor(all: GraphOutputs, known: ReadonlySet<string>) {
    this.#all = all;
    this.#known = known;
  }

  /** Whether the path is such an output, or lies in one. */
  has(path: string): boolean {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))) {
      const owner = this.#all.owners.get(at);
      if (owner !== undefined) return !this.#known.has(owner);
    }
    return false;
  }

  /** The names in a folder that lead to such outputs. */
  namesIn(folder: RelPath): string[] {
    const names = [...(this.#all.around.get(folder) ?? [])];
    return names.filter(([, ids]) => this.#areOthers(ids)).map(([name]) => name);
  }

  /** Whether the folder holds such an output. */
  isAround(folder: RelPath): boolean {
    for (const ids of this.#all.around.get(folder)?.values() ?? []) if (this.#areOthers(ids)) return true;
    return false;
  }

  #areOthers(ids: ReadonlySet<string>): boolean {
    for (const id of ids) if (!this.#known.has(id)) return true;
    return false;
  }
}
