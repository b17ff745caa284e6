// Outputs of steps that a step does not depend on. What a step sees is defined as the checkout and the outputs of its
// dependencies, so such an output may appear beside the step at any time and proves nothing.
// Guaranteed: only an output that was absent when the command looked is left out. One that was there counts.
import { parentOf, type RelPath, ROOT } from '../../core/path.ts';
import { type AbsPath, absPath, inside, relativeIn } from '../../hermeticity/system/absolute-path.ts';
import type { Shown } from '../../hermeticity/verdict/read-set.ts';
import type { RunRequest } from '../action/request.ts';

export class UnorderedOutputs {
  readonly #workspace: AbsPath;
  readonly #list: () => readonly RelPath[];
  #known:
    | { readonly outputs: ReadonlySet<RelPath>; readonly above: ReadonlyMap<RelPath, Set<string>> }
    | undefined;

  constructor({ workspace, unordered }: Pick<RunRequest, 'workspace' | 'unordered'>) {
    this.#workspace = absPath(workspace);
    this.#list = () => unordered?.() ?? [];
  }

  /** The names of outputs, and of folders around outputs, that a listing of this folder did not show. */
  absentIn(folder: AbsPath, shown: Shown): string[] {
    const path = relativeIn(this.#workspace, folder);
    const names = path === undefined ? undefined : this.#index().above.get(path);
    return names ? [...names].filter((name) => !shown.has(name)) : [];
  }

  /** Whether the path is such an output, or lies in one. */
  holds(path: AbsPath): boolean {
    const relative = relativeIn(this.#workspace, path);
    if (relative === undefined) return false;
    const { outputs } = this.#index();
    for (let at = relative; at !== ROOT; at = parentOf(at)) if (outputs.has(at)) return true;
    return false;
  }

  /**
   * For an absent path, and the outermost absent folder on the way to it: the outermost of these that holds no such
   * output, because its absence counts. Undefined if the path itself is, holds or lies in such an output.
   */
  countedAbsence(path: AbsPath, outermost: AbsPath): AbsPath | undefined {
    const whole = relativeIn(this.#workspace, path);
    const start = relativeIn(this.#workspace, outermost);
    const { outputs, above } = this.#index();
    if (whole === undefined || start === undefined || outputs.size === 0) return outermost;
    if (this.holds(path)) return undefined;
    let counted = start;
    while (above.has(counted)) {
      if (counted === whole) return undefined;
      const slash = whole.indexOf('/', counted.length + 1);
      counted = (slash === -1 ? whole : whole.slice(0, slash)) as RelPath;
    }
    return inside(this.#workspace, counted);
  }

  #index() {
    this.#known ??= indexOf(this.#list());
    return this.#known;
  }
}

/** `above`: each folder that holds outputs, with the names in it that lead to them. */
function indexOf(list: readonly RelPath[]) {
  const above = new Map<RelPath, Set<string>>();
  for (const output of list) {
    for (let at = output; at !== ROOT; at = parentOf(at)) {
      const folder = parentOf(at);
      const name = at.slice(folder === ROOT ? 0 : folder.length + 1);
      const names = above.get(folder);
      if (names?.has(name)) break;
      if (names) names.add(name);
      else above.set(folder, new Set([name]));
    }
  }
  return { outputs: new Set(list), above };
}
