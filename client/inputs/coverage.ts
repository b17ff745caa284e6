// What a declaration would cover: whether a file that appeared at some path would be an input. Decides as a scan does,
// for one path at a time and without looking whether anything is there.
import { isWithin, join, parentOf, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { RunRequest } from '../request.ts';
import { isPrivateFolder } from '../reserved.ts';
import { HIDES_NOTHING, type IgnoreRules, rulesAbove, rulesWithin } from './git-ignore.ts';
import { Observations } from './observations.ts';
import { type CompiledPattern, compilePatterns, type Patterns } from './patterns.ts';

/** Stands for any name that a wildcard would match. */
const ANY_NAME = 'assay-any-name';

export class Coverage {
  readonly #request: RunRequest;
  readonly #observations: Observations;
  readonly #patterns: Patterns;
  readonly #rules = new Map<RelPath, IgnoreRules>();
  /** One name for each pattern that ends in a wildcard, as that wildcard would take it. */
  readonly #newNames: readonly string[];

  constructor(request: RunRequest) {
    this.#request = request;
    this.#observations = new Observations(request.workspace);
    this.#patterns = compilePatterns(this.#observations, request.inputs);
    this.#newNames = [...new Set(this.#patterns.takes.map(nameForWildcard))];
  }

  covers(path: RelPath): boolean {
    if (path === ROOT || this.#patterns.excludes(path)) return false;
    if (this.#request.outputs.some((output) => isWithin(path, output))) return false;
    if (path.split('/').some(isPrivateFolder)) return false;
    return this.#patterns.takes.some((pattern) => pattern.matches(path) && !this.#hides(pattern, path));
  }

  /** Whether something in this folder, or the folder itself, may be an input. */
  reachesInto(folder: RelPath): boolean {
    return this.#patterns.takes.some(({ base }) => isWithin(base, folder) || isWithin(folder, base));
  }

  /** Whether a new file in this folder would be an input, because a pattern ends there in a wildcard. */
  growsIn(folder: RelPath): boolean {
    return this.#newNames.some((name) => this.covers(join(folder, parseRelPath(name))));
  }

  /** A path, or a folder above it, that .gitignore hides; not where the pattern itself names what is hidden. */
  #hides(pattern: CompiledPattern, path: RelPath): boolean {
    if (this.#request.includeIgnored) return false;
    const named = pattern.literal ? pattern.base : ROOT;
    if (named !== ROOT && this.#isHidden(named, path !== named)) return false;
    return this.#isHidden(path, false);
  }

  #isHidden(path: RelPath, isFolder: boolean): boolean {
    if (path === ROOT) return false;
    const parent = parentOf(path);
    return this.#isHidden(parent, true) || this.#rulesIn(parent).hides(path, isFolder);
  }

  #rulesIn(folder: RelPath): IgnoreRules {
    const known = this.#rules.get(folder);
    if (known) return known;
    const above = folder === ROOT ? rulesAbove(this.#observations) : this.#rulesIn(parentOf(folder));
    const rules = above === HIDES_NOTHING ? above : rulesWithin(above, this.#observations, folder);
    this.#rules.set(folder, rules);
    return rules;
  }
}

function nameForWildcard({ source, literal }: CompiledPattern): string {
  const last = source.split('/').at(-1) ?? '';
  if (literal || last === '') return ANY_NAME;
  return last.replaceAll(/\*+/g, ANY_NAME).replaceAll('?', 'x');
}
