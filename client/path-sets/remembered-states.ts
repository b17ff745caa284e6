// The states of paths during one lookup or publication, each found once: the path sets of one action share
// most of their paths.
import { type StateOf, wasAbsent } from '../../core/path-set.ts';

export function remembering(stateOf: StateOf): StateOf {
  const known = new Map<string, string>();
  return (seen) => {
    const { root, path, names, left, without } = seen;
    const name = JSON.stringify([root, path, names, left, without, wasAbsent(seen)]);
    const state = known.get(name) ?? stateOf(seen);
    known.set(name, state);
    return state;
  };
}
