// How many facts of each kind a result depends on beyond its declaration, for people.
import { LOADER_CACHE, MACHINE, type ObservedPath, type PathSet, type StateOf } from '../../core/path-set.ts';
import { ABSENT_STATE } from './states.ts';

export interface FactCounts {
  /** Files, links and folders that exist. */
  readonly files: number;
  /** Paths that do not exist. */
  readonly absent: number;
  /** Folders with the names in them. */
  readonly listings: number;
  /** Answers of the loader's cache. */
  readonly libraries: number;
  /** Properties of the machine and its user. */
  readonly machine: number;
}

/** `stateOf`: the states at the lookup. A path set may have been recorded with others. */
export function countFacts(set: PathSet, stateOf: StateOf): FactCounts {
  const counts = { files: 0, absent: 0, listings: 0, libraries: 0, machine: 0 };
  for (const seen of set) counts[factKindOf(seen, stateOf)]++;
  return counts;
}

export function factKindOf(seen: ObservedPath, stateOf: StateOf): keyof FactCounts {
  if (seen.root === LOADER_CACHE) return 'libraries';
  if (seen.root === MACHINE) return 'machine';
  if (seen.names) return 'listings';
  return stateOf(seen) === ABSENT_STATE ? 'absent' : 'files';
}
