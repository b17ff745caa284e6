// Which paths of a workspace .gitignore hides, one path at a time. A path is hidden where a rule names it or a folder above it.
import { parentOf, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { type IgnoreRules, rulesAbove, rulesWithin } from './git-ignore.ts';

export class IgnoredPaths {
  readonly #observations: StatRecorder;
  readonly #rules = new Map<RelPath, IgnoreRules>();

  /** Every .gitignore is looked at through `observations`. */
  constructor(observations: StatRecorder) {
    this.#observations = observations;
  }

  /** As what lies there is now: a rule such as "dist/" hides a folder and no file. `path`: from the root. */
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
