// The states of paths during one lookup or publication, each found once: the path sets of one action share
// most of their paths.
import { type ObservedPath, type PathSet, type StateOf, wasAbsent } from '../../core/path-set.ts';

/**
 * `sealed`: the path set of the run that is published. The result depends on the states that are recorded
 * there: a path that somebody has changed since must not lead to this result.
 */
export function remembering(stateOf: StateOf, sealed: PathSet = []): StateOf {
  const known = new Map(sealed.map((seen) => [nameOf(seen), seen.state]));
  return (seen) => {
    const name = nameOf(seen);
    const state = known.get(name) ?? stateOf(seen);
    known.set(name, state);
    return state;
  };
}

function nameOf(seen: ObservedPath): string {
  const { root, path, names, left, without, lens } = seen;
  return JSON.stringify([root, path, names, left, without, lens, wasAbsent(seen)]);
}
