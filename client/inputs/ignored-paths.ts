// Tells which paths .gitignore hides, one path at a time. A path is hidden if a rule matches it or one of its
// parents.
import { parentOf, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { type IgnoreRules, rulesAbove, rulesWithin } from './git-ignore.ts';

export class IgnoredPaths {
  readonly #observations: StatRecorder;
  readonly #rules = new Map<RelPath, IgnoreRules>();

  /** Reads every .gitignore through `observations`. */
  constructor(observations: StatRecorder) {
    this.#observations = observations;
  }

  /**
   * By the kind of the existing file: a rule such as "dist/" hides only a folder. `path` is relative to the
   * root.
   */
  has(path: string): boolean {
    const parsed = parseRelPath(path);
    return this.hides(parsed, this.#observations.lstat(parsed)?.isDirectory() ?? false);
  }

  /** By the rules alone: the path need not exist. */
  hides(path: RelPath, isFolder: boolean): boolean {
    if (path === ROOT) return false;
    const parent = parentOf(path);
    return this.hides(parent, true) || this.#rulesIn(parent).hides(path, isFolder);
  }

  #rulesIn(folder: RelPath): IgnoreRules {
    const known = this.#rules.get(folder);
    if (known) return known;
    const above = folder === ROOT ? rulesAbove(this.#observations) : this.#rulesIn(parentOf(folder));
    const rules = rulesWithin(above, this.#observations, folder);
    this.#rules.set(folder, rules);
    return rules;
  }
}
