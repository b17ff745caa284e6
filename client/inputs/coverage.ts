// Decides whether a declaration covers a path: whether a new file there would be an input. It decides like a scan, for one
// path at a time, whether or not the path exists.
import { isWithin, join, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { RunRequest } from '../action/request.ts';
import { isPrivateFolder } from '../action/reserved.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { IgnoredPaths } from './ignored-paths.ts';
import { exclusionsOf, includedBy, reachOf } from './pattern-reach.ts';
import { type CompiledPattern, compilePatterns, type Patterns } from './patterns.ts';

/** Stands for any name that a wildcard matches. */
const ANY_NAME = 'assay-any-name';

export class Coverage {
  readonly #request: RunRequest;
  readonly #patterns: Patterns;
  readonly #ignored: IgnoredPaths;
  /** A sample name for each pattern that ends in a wildcard. */
  readonly #newNames: readonly string[];

  constructor(request: RunRequest) {
    this.#request = request;
    const observations = new StatRecorder(request.workspace);
    this.#patterns = compilePatterns(observations, request.inputs);
    this.#ignored = new IgnoredPaths(observations);
    this.#newNames = [...new Set(this.#patterns.takes.map(nameForWildcard))];
  }

  covers(path: RelPath): boolean {
    if (path === ROOT || this.#patterns.excludes(path)) return false;
    if (this.#request.outputs.some((output) => isWithin(path, output))) return false;
    if (path.split('/').some(isPrivateFolder)) return false;
    return this.#patterns.takes.some((pattern) => pattern.matches(path) && !this.#hides(pattern, path));
  }

  /** Whether the folder, or something in it, may be an input. */
  reachesInto(folder: RelPath): boolean {
    return this.#patterns.takes.some(({ base }) => isWithin(base, folder) || isWithin(folder, base));
  }

  /** Whether a new or removed file in this folder would change the inputs. */
  mayHold(folder: RelPath): boolean {
    const { inputs, includeIgnored } = this.#request;
    if (exclusionsOf(inputs).hasAllBelow(folder)) return false;
    const isHidden = !includeIgnored && this.#ignored.hides(folder, true);
    return includedBy(inputs).some(
      (taken) => isWithin(taken.fixed, folder) || (!isHidden && reachOf(taken, folder).below),
    );
  }

  /** Whether a new file in this folder would be an input, because a pattern ends in a wildcard. */
  growsIn(folder: RelPath): boolean {
    return this.#newNames.some((name) => this.covers(join(folder, parseRelPath(name))));
  }

  /** Whether .gitignore hides the path or a parent; not if the pattern itself names what is hidden. */
  #hides(pattern: CompiledPattern, path: RelPath): boolean {
    if (this.#request.includeIgnored) return false;
    const named = pattern.literal ? pattern.base : ROOT;
    if (named !== ROOT && this.#ignored.hides(named, path !== named)) return false;
    return this.#ignored.hides(path, false);
  }
}

function nameForWildcard({ source, literal }: CompiledPattern): string {
  const last = source.split('/').at(-1) ?? '';
  if (literal || last === '') return ANY_NAME;
  return last.replaceAll(/\*+/g, ANY_NAME).replaceAll('?', 'x');
}
