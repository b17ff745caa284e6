// Outputs of steps that a step does not depend on. What a step sees is defined as the checkout and the outputs of its
// dependencies, so such an output may appear beside the step at any time and proves nothing.
// Guaranteed: only an output that was absent when the command looked is left out. One that was there counts.
import type { RelPath } from '../../core/path.ts';
import type { Shown } from '../../hermeticity/verdict/read-set.ts';
import { type AbsPath, absPath, inside, relativeIn } from '../../system/paths/absolute-path.ts';
import type { OutputsOfOthers } from '../action/outputs-of-others.ts';
import type { RunRequest } from '../action/request.ts';

export class UnorderedOutputs {
  readonly #workspace: AbsPath;
  readonly #others: OutputsOfOthers | undefined;

  constructor({ workspace, unordered }: Pick<RunRequest, 'workspace' | 'unordered'>) {
    this.#workspace = absPath(workspace);
    this.#others = unordered?.();
  }

  /** The names of outputs, and of folders around outputs, that a listing of this folder did not show. */
  absentIn(folder: AbsPath, shown: Shown): string[] {
    const path = relativeIn(this.#workspace, folder);
    const names = path === undefined ? undefined : this.#others?.namesIn(path);
    return names ? names.filter((name) => !shown.has(name)) : [];
  }

  /** Whether the path is such an output, or lies in one. */
  holds(path: AbsPath): boolean {
    const relative = relativeIn(this.#workspace, path);
    return relative !== undefined && this.#others?.has(relative) === true;
  }

  /**
   * For an absent path, and the outermost absent folder on the way to it: the outermost of these that holds no such
   * output, because its absence counts. Undefined if the path itself is, holds or lies in such an output.
   */
  countedAbsence(path: AbsPath, outermost: AbsPath): AbsPath | undefined {
    const whole = relativeIn(this.#workspace, path);
    const start = relativeIn(this.#workspace, outermost);
    if (whole === undefined || start === undefined || !this.#others) return outermost;
    if (this.#others.has(whole)) return undefined;
    let counted = start;
    while (this.#others.isAround(counted)) {
      if (counted === whole) return undefined;
      const slash = whole.indexOf('/', counted.length + 1);
      counted = (slash === -1 ? whole : whole.slice(0, slash)) as RelPath;
    }
    return inside(this.#workspace, counted);
  }
}
