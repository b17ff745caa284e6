// Which paths of a workspace .gitignore hides: what a step reads there was most likely made by an earlier run, not written by
// a person.
import { parentOf, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import { type IgnoreRules, rulesAbove, rulesWithin } from '../inputs/git-ignore.ts';
import { Observations } from '../inputs/observations.ts';

export class IgnoredPaths {
  readonly #observations: Observations;
  readonly #rules = new Map<RelPath, IgnoreRules>();

  constructor(root: string) {
    this.#observations = new Observations(root);
  }

  /** Itself, or a folder that it lies in. `path`: from the root. */
  has(path: string): boolean {
    const parts = path === ROOT ? [] : path.split('/');
    return parts.some((_, at) => {
      const folder = at === 0 ? ROOT : parseRelPath(parts.slice(0, at).join('/'));
      const child = parseRelPath(parts.slice(0, at + 1).join('/'));
      const isFolder = at + 1 < parts.length || this.#isFolder(child);
      return this.#rulesIn(folder).hides(child, isFolder);
    });
  }

  #isFolder(path: RelPath): boolean {
    return this.#observations.lstat(path)?.isDirectory() ?? false;
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
