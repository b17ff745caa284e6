// Names that differ in every run, such as those of mktemp and those with a process id, as patterns.
//
// A path set that holds such a name, recorded as absent, is another set after each run. So a name that differs
// from the name in an earlier set becomes a pattern: "no name in this folder is like tmp.*". The pattern holds
// only if the name itself is absent, so nothing that the result depends on is lost. It is used only if the two
// sets differ in nothing else, and if it holds now.
//
// A pattern has the root "like:" and the root of its folder. Its last part has one "*", for one or more
// characters.
import {
  type ObservedPath,
  type PathSet,
  type StateOf,
  sortObservedPaths,
  wasAbsent,
} from '../../core/path-set.ts';
import { OBSERVED } from '../limits.ts';

const LIKE = 'like:';
/** A shorter fixed part would match names of other files. */
const MIN_FIXED_LENGTH = 2;

export function isPattern(root: string): boolean {
  return root.startsWith(LIKE);
}

/** The root of a pattern's folder. */
export function rootOfPattern(root: string): string {
  return root.slice(LIKE.length);
}

/** The folder of a pattern, relative to its root. "../" leads to the folder above the root. */
export function folderOfPattern(path: string): string {
  const { folder } = splitPath(path);
  return folder === '..' || folder.endsWith('/..') ? `${folder}/` : folder;
}

export function nameOfPattern(path: string): string {
  return splitPath(path).name;
}

function splitPath(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { folder: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) };
}

export function matchesNamePattern(name: string, pattern: string): boolean {
  const [prefix = '', suffix = ''] = pattern.split('*');
  return name.length > prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix);
}

/** Whether the pattern may take the place of the path. */
export type MayReplace = (pattern: ObservedPath, path: ObservedPath) => boolean;

/** The set with patterns, if it then has the paths of an earlier set with patterns; otherwise the set itself. */
export function withPatterns(
  set: PathSet,
  earlier: Iterable<PathSet>,
  stateOf: StateOf,
  mayReplace: MayReplace = () => true,
): PathSet {
  for (const other of earlier) {
    const patterns = patternsFor(set, other, mayReplace);
    if (!patterns || patterns.some((one) => stateOf(one) !== 'absent')) continue;
    const kept = set.filter((seen) => !patterns.some((one) => covers(one, seen)));
    return sortObservedPaths([...kept, ...patterns]);
  }
  return set;
}

/** Undefined if the sets differ in anything but the names of absent paths, or not at all. */
function patternsFor(set: PathSet, other: PathSet, mayReplace: MayReplace): ObservedPath[] | undefined {
  if (Math.abs(set.length - other.length) > OBSERVED.varyingNames) return undefined;
  const mine = without(set, other);
  const theirs = without(other, set);
  if (![mine, theirs].every(({ length }) => length > 0 && length <= OBSERVED.varyingNames)) return undefined;
  if (![...mine, ...theirs].every((seen) => wasAbsent(seen) && !seen.names)) return undefined;
  const patterns = new Map<string, ObservedPath>();
  for (const seen of mine) {
    const pattern = closest(theirs.flatMap((one) => patternOf(seen, one) ?? []));
    if (!pattern || !mayReplace(pattern, seen)) return undefined;
    patterns.set(nameOf(pattern), pattern);
  }
  const found = [...patterns.values()];
  return theirs.every((seen) => found.some((one) => covers(one, seen))) ? found : undefined;
}

function without(set: PathSet, other: PathSet): PathSet {
  const known = new Set(other.map(nameOf));
  return set.filter((seen) => !known.has(nameOf(seen)));
}

/** The pattern with the longest fixed part: it comes from the most similar name. */
function closest(patterns: readonly ObservedPath[]): ObservedPath | undefined {
  return patterns.toSorted((a, b) => b.path.length - a.path.length)[0];
}

/** Of two names in one folder. */
function patternOf(one: ObservedPath, other: ObservedPath): ObservedPath | undefined {
  const [mine, theirs] = [splitPath(one.path), splitPath(other.path)];
  if (plainRoot(one.root) !== plainRoot(other.root) || mine.folder !== theirs.folder) return undefined;
  const name = commonPattern(mine.name, theirs.name);
  if (name === undefined) return undefined;
  const path = mine.folder === '' ? name : `${mine.folder}/${name}`;
  return {
    root: `${LIKE}${plainRoot(one.root)}`,
    path,
    names: false,
    state: 'absent',
    left: '',
    without: [],
    lens: '',
    shown: [],
    note: '',
  };
}

/**
 * The fixed part ends at a character that is no letter and no digit: two random names may have letters in
 * common. Only a name without such a character, such as sedXXXXXX, is cut at the first difference.
 */
function commonPattern(a: string, b: string): string | undefined {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start] && a[start] !== '*') start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a.at(-1 - end) === b.at(-1 - end) && a.at(-1 - end) !== '*') end++;
  const prefix = /^.*[^A-Za-z0-9]/s.exec(a.slice(0, start))?.[0] ?? a.slice(0, start);
  const suffix = /[^A-Za-z0-9].*$/s.exec(a.slice(a.length - end))?.[0] ?? '';
  const fixed = prefix.length + suffix.length;
  const isVarying = a.length > fixed && b.length > fixed;
  if (!isVarying || fixed < MIN_FIXED_LENGTH || prefix.includes('*') || suffix.includes('*'))
    return undefined;
  return `${prefix}*${suffix}`;
}

/** Whether the pattern holds only if the absent path, or the other pattern, holds. */
function covers(pattern: ObservedPath, seen: ObservedPath): boolean {
  const [wide, narrow] = [splitPath(pattern.path), splitPath(seen.path)];
  if (!wasAbsent(seen) || seen.names || rootOfPattern(pattern.root) !== plainRoot(seen.root)) return false;
  return wide.folder === narrow.folder && matchesNamePattern(narrow.name, wide.name);
}

function plainRoot(root: string): string {
  return isPattern(root) ? rootOfPattern(root) : root;
}

function nameOf({ root, path, names, left, without, lens }: ObservedPath): string {
  return JSON.stringify([root, path, names, left, without, lens]);
}
