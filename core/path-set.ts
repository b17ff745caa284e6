// Path sets: the paths that an action read besides its declared inputs, and the lookup by them.
// A result is found only if every path in its path set has the same state now as when the action ran.
//
// These paths are known only after the run, so the key cannot contain them. The lookup has two steps:
//
//   key ─> path sets of earlier runs ─> current state of their paths ─> key of the result
//
// Each key has numbered slots for path sets. A slot is never overwritten. When all slots of a key are used,
// the state of the paths that all its sets share gives another key with more slots. So a few steps find any
// number of sets.
import { type Digest, digestOf, type Hash } from './digest.ts';
import { decodeStrict } from './message.ts';
import { PathSet as PathSetMessage } from './proto/generated/assay.ts';

export interface ObservedPath {
  /** "workspace" or "tool:NAME", or "above:" and one of these for the folders above it, or "" for "/". */
  readonly root: string;
  /** Relative to the root. Below the workspace or a tool, it may begin with "../" for each folder up. */
  readonly path: string;
  /** The action listed this folder. */
  readonly names: boolean;
  /** What the recorded run found there. */
  readonly state: string;
  /** What the recorded run created there, where nothing existed before. "" for nothing. */
  readonly left: string;
  /** Names in this folder that the action itself created. They do not count as part of the listing. */
  readonly without: readonly string[];
}

/** Sorted, each path once. */
export type PathSet = readonly ObservedPath[];

/** The current state of a path, in the form of `ObservedPath.state`. */
export type StateOf = (path: ObservedPath) => string;

export function encodePathSet(set: PathSet): Uint8Array {
  return PathSetMessage.encode({
    paths: set.map((seen) => ({ ...seen, without: [...seen.without] })),
  }).finish();
}

export function decodePathSet(bytes: Uint8Array): PathSet {
  return decodeStrict(PathSetMessage, { many: { 1: {} } }, bytes, 'not a path set').paths;
}

/** The address of the path set in slot `number`. */
export function pathSetAddress(key: Hash, number: number): Digest {
  return hashOf('assay-path-set-2', key, String(number));
}

/** The key of the result for the current state of the paths in `set`. */
export function resultKey(key: Hash, set: PathSet, stateOf: StateOf): Digest {
  return hashOf('assay-observed-2', key, ...fingerprint(set, stateOf));
}

/** The next key to look under when all slots of `key` are used. */
export function nextKey(key: Hash, sets: readonly PathSet[], stateOf: StateOf): Hash {
  return hashOf('assay-path-branch-2', key, ...fingerprint(sharedBy(sets), stateOf)).hash;
}

export function samePaths(a: PathSet, b: PathSet): boolean {
  return a.length === b.length && a.every((seen, at) => nameOf(seen) === nameOf(b[at]));
}

export function compareObservedPaths(a: ObservedPath, b: ObservedPath): number {
  const [left, right] = [nameOf(a), nameOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function sharedBy([first = [], ...others]: readonly PathSet[]): PathSet {
  const names = others.map((set) => new Set(set.map(nameOf)));
  return first.filter((seen) => names.every((known) => known.has(nameOf(seen))));
}

/** Every field but the state. */
function nameOf(seen: ObservedPath | undefined): string {
  return seen ? JSON.stringify([seen.root, seen.path, seen.names, seen.left, seen.without]) : '';
}

function fingerprint(set: PathSet, stateOf: StateOf): string[] {
  return set.flatMap((seen) => [nameOf(seen), stateOf(seen)]);
}

function hashOf(...lines: readonly string[]): Digest {
  return digestOf(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
}
