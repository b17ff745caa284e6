// Path sets: what an action looked at besides its declared inputs. Its key can't hold that, because it is known only
// when the action has run. So a key leads to the path sets of earlier runs, and each path set, with what lies at its paths
// now, leads to the key of a result:
//
//   key ─> path sets ─> what lies there now ─> key of the result
//
// Path sets lie in numbered places that are never written over. When all places of a key are taken, the paths that all of
// these sets share lead on to another key with places of its own, so any number of sets can be found in a few steps.
import { type Digest, digestOf, type Hash } from './digest.ts';
import { decodeStrict } from './message.ts';
import { PathSet as PathSetMessage } from './proto/generated/assay.ts';

export interface ObservedPath {
  /** "workspace", "tool:NAME", "above:" and one of these for each folder above it, or "" for the root of the file system. */
  readonly root: string;
  /** From the workspace or a tool it may begin with "../", once for each folder up. */
  readonly path: string;
  /** The names in this folder were read, too. */
  readonly names: boolean;
  /** What was there for the run that told it. */
  readonly state: string;
  /** What that run left there itself, where nothing was before; "" for nothing. */
  readonly left: string;
  /** Names in this folder that are the action's own doing. */
  readonly without: readonly string[];
}

/** Sorted, each path once. */
export type PathSet = readonly ObservedPath[];

/** What lies at a path now, in the words of `ObservedPath.state`. */
export type StateOf = (path: ObservedPath) => string;

export function encodePathSet(set: PathSet): Uint8Array {
  return PathSetMessage.encode({
    paths: set.map((seen) => ({ ...seen, without: [...seen.without] })),
  }).finish();
}

export function decodePathSet(bytes: Uint8Array): PathSet {
  return decodeStrict(PathSetMessage, { many: { 1: {} } }, bytes, 'not a path set').paths;
}

/** Where the path set with this number lies. */
export function pathSetAddress(key: Hash, number: number): Digest {
  return hashOf('assay-path-set-2', key, String(number));
}

/** The key of the result of an action for which all of this looks as it does now. */
export function resultKey(key: Hash, set: PathSet, stateOf: StateOf): Digest {
  return hashOf('assay-observed-2', key, ...fingerprint(set, stateOf));
}

/** Where to look further when all places under `key` are taken. */
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

/** All of a look that does not depend on what lies there. */
function nameOf(seen: ObservedPath | undefined): string {
  return seen ? JSON.stringify([seen.root, seen.path, seen.names, seen.left, seen.without]) : '';
}

function fingerprint(set: PathSet, stateOf: StateOf): string[] {
  return set.flatMap((seen) => [nameOf(seen), stateOf(seen)]);
}

function hashOf(...lines: readonly string[]): Digest {
  return digestOf(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
}
