// Path sets: the facts that a result depends on besides its declared inputs, and the lookup by them.
// Most facts are paths that the action read, listed or missed. Others are answers of the loader's cache, and
// properties of the machine. A result is found only if every fact is the same now as when the action ran.
//
// These facts are known only after the run, so the key cannot contain them. The lookup has two steps:
//
//   key ─> path sets of earlier runs ─> current state of their paths ─> key of the result
//
// Each key has numbered slots for path sets. A slot is never overwritten. When all slots of a key are used,
// the state of the paths that all its sets share gives another key with more slots. So a few steps find any
// number of sets.
import { type Digest, digestOf, type Hash } from './digest.ts';
import { decodeStrict } from './message.ts';
import { PathSet as PathSetMessage } from './proto/generated/assay.ts';

/** Where an Assay server lists the path sets of an action (docs/decisions/0270): over HTTP, and over gRPC. */
export const PATH_SETS_PATH = '/path-sets/v1/';
export const PATH_SETS_SERVICE = 'assay.v1.PathSets';
/**
 * A client that is about to publish a result, and asks for earlier ones to compare with, sends this header. The
 * server then counts no lookup: the action was counted when it was looked up.
 */
export const COMPARISON_HEADER = 'assay-comparison';
/** The first field of these responses. */
export const LIST_MARK = 'assay.v1.ListPathSetsResponse';
export const FIND_MARK = 'assay.v1.FindResultResponse';
export const PUBLISH_MARK = 'assay.v1.PublishResponse';
/** How many bytes of the SHA-256 name a path set in a request. */
export const SET_NAME_BYTES = 8;

export interface ObservedPath {
  /**
   * "workspace", "tool:NAME", "home:FOLDER" or "linked:LINK" (docs/FORMAT.md), or "above:" and one of these
   * for the folders above it, or "" for "/". "like:" and any of these: the last part of the path is a
   * pattern, and no name was like it. For facts that are no paths: LOADER_CACHE or MACHINE.
   */
  readonly root: string;
  /**
   * Relative to the root. Below the workspace or a tool, it may begin with "../" for each folder up.
   * With LOADER_CACHE: the name of a library. With MACHINE: the name of a property.
   */
  readonly path: string;
  /** The action listed this folder. */
  readonly names: boolean;
  /** What the recorded run found there. */
  readonly state: string;
  /** What the recorded run created there, where nothing existed before. "" for nothing. */
  readonly left: string;
  /** Names in this folder that the action itself created. They do not count as part of the listing. */
  readonly without: readonly string[];
  /** Of a listing: which of its names count (hermeticity/lenses/lenses.ts). "" for all of them. */
  readonly lens: string;
  /** For messages only, not compared: the types and names of a listing, if they are few. */
  readonly shown: readonly string[];
  /** For messages only, not compared: why the result depends on it. */
  readonly note: string;
}

/** The root of a fact about /etc/ld.so.cache: which files the loader's cache has for a library. */
export const LOADER_CACHE = 'ld.so.cache';

/** The root of a fact about the machine or the user: host name, CPU features, the workspace's own path. */
export const MACHINE = 'machine';

/** Sorted, each path once. */
export type PathSet = readonly ObservedPath[];

/** The current state of a path, in the form of `ObservedPath.state`. */
export type StateOf = (path: ObservedPath) => string;

/** The state that the run found that made the result. The path may have another one by now. */
export const recordedState: StateOf = ({ state }) => state;

/** A run encodes one set several times: for its blob, for its slot and for the remote. */
const encodings = new WeakMap<PathSet, Uint8Array>();

export function encodePathSet(set: PathSet): Uint8Array {
  const known = encodings.get(set);
  if (known) return known;
  const paths = set.map((seen) => ({ ...seen, without: [...seen.without], shown: [...seen.shown] }));
  const bytes = PathSetMessage.encode({ paths }).finish();
  encodings.set(set, bytes);
  return bytes;
}

export function decodePathSet(bytes: Uint8Array): PathSet {
  return decodeStrict(PathSetMessage, { many: { 1: {} } }, bytes, 'not a path set').paths;
}

/** The address of the path set in slot `number`. */
export function pathSetAddress(key: Hash, number: number): Digest {
  return hashOf('assay-path-set-4', key, String(number));
}

/** The key of the result for the current state of the paths in `set`. */
export function resultKey(key: Hash, set: PathSet, stateOf: StateOf): Digest {
  return hashOf('assay-observed-4', key, ...fingerprint(set, stateOf));
}

/** The next key to look under when all slots of `key` are used. */
export function nextKey(key: Hash, sets: readonly PathSet[], stateOf: StateOf): Hash {
  return hashOf('assay-path-branch-4', key, ...fingerprint(sharedBy(sets), stateOf)).hash;
}

export function samePaths(a: PathSet, b: PathSet): boolean {
  return a.length === b.length && a.every((seen, at) => nameOf(seen) === nameOf(b[at]));
}

/** True for a path that the recorded run found absent and left absent. */
export function wasAbsent({ state, left }: Pick<ObservedPath, 'state' | 'left'>): boolean {
  return state === 'absent' && left === '';
}

/**
 * The same for sets that lead to the same results: they differ only in the states of paths that were there. A
 * path that was absent counts separately, because a set from a remote checks it only for its existence.
 */
export function pathSetId(set: PathSet): Hash {
  const lines = set.flatMap((seen) => [nameOf(seen), wasAbsent(seen) ? 'absent' : '']);
  return hashOf('assay-path-set-id-2', ...lines).hash;
}

/** In the order of a path set. Each name is made once: a comparison of two paths would make two. */
export function sortObservedPaths(paths: readonly ObservedPath[]): ObservedPath[] {
  const named = paths.map((seen) => ({ seen, name: nameOf(seen) }));
  named.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return named.map(({ seen }) => seen);
}

function sharedBy([first = [], ...others]: readonly PathSet[]): PathSet {
  const names = others.map((set) => new Set(set.map(nameOf)));
  return first.filter((seen) => names.every((known) => known.has(nameOf(seen))));
}

/** Every field but the state and the note. */
function nameOf(seen: ObservedPath | undefined): string {
  return seen ? JSON.stringify([seen.root, seen.path, seen.names, seen.left, seen.without, seen.lens]) : '';
}

function fingerprint(set: PathSet, stateOf: StateOf): string[] {
  return set.flatMap((seen) => [nameOf(seen), stateOf(seen)]);
}

function hashOf(...lines: readonly string[]): Digest {
  return digestOf(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
}
