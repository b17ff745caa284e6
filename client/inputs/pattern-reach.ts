// Finds the paths that a pattern can match, by its text alone. It reads nothing from disk, so a fresh checkout and a
// built one give the same answer. If the text does not tell whether a path is a file or a folder, it may be
// both.
import picomatch from 'picomatch';
import { AssayError } from '../../core/errors.ts';
import {
  isWithin,
  nameOf,
  parseRelPath,
  type RelPath,
  relativeTo,
  relPathFromUser,
} from '../../core/path.ts';
import type { InputPattern } from '../action/request.ts';
import { matcherOf } from './patterns.ts';

/** One expansion of a pattern: "{a,b}/*.c" has two. */
export interface Alternative {
  /** The part before the first wildcard. */
  readonly fixed: RelPath;
  /** The parts after it; if empty, the pattern matches `fixed` and everything in it. */
  readonly wild: readonly string[];
}

/** Whether a pattern can match a path itself, and something below it. */
interface Reach {
  readonly itself: boolean;
  readonly below: boolean;
}

const NOTHING: Reach = { itself: false, below: false };

/** The paths that patterns include, without invalid patterns. */
export function includedBy(inputs: readonly InputPattern[]): Alternative[] {
  return inputs.flatMap(({ pattern }) => (pattern.startsWith('!') ? [] : alternativesIn(pattern)));
}

export function exclusionsOf(inputs: readonly InputPattern[]): Exclusions {
  return new Exclusions(inputs.flatMap(({ pattern }) => (pattern.startsWith('!') ? [pattern.slice(1)] : [])));
}

/** Empty for a pattern that names no path of a workspace. */
export function alternativesIn(pattern: string): Alternative[] {
  try {
    return alternativesOf(pattern);
  } catch (error) {
    if (error instanceof AssayError) return [];
    throw error;
  }
}

function alternativesOf(pattern: string): Alternative[] {
  const written = pattern.includes('*') ? [] : [{ fixed: relPathFromUser(pattern), wild: [] }];
  const read = withoutBraces(pattern).map((one): Alternative => {
    const { base, glob, isGlob } = picomatch.scan(one);
    const plain = (isGlob ? base : one).replaceAll(/\\(.)/gs, '$1');
    return { fixed: relPathFromUser(plain), wild: isGlob ? glob.split('/') : [] };
  });
  /* "pages/[id].tsx" is first a file name and then a pattern (patterns.ts). */
  const isPlain = read.length === 1 && read[0]?.wild.length === 0;
  return isPlain ? read : [...read, ...written];
}

/** `path` may be a file or a folder. */
export function reachOf({ fixed, wild }: Alternative, path: RelPath): Reach {
  if (!isWithin(path, fixed)) return NOTHING;
  return wild.length === 0
    ? { itself: true, below: true }
    : matchParts(wild, relativeTo(fixed, path).split('/'));
}

function matchParts(wild: readonly string[], names: readonly string[]): Reach {
  const [part, ...rest] = wild;
  const [name, ...deeper] = names;
  if (name === undefined) return { itself: wild.every(isGlobstar), below: wild.length > 0 };
  if (part === undefined) return NOTHING;
  if (!isGlobstar(part))
    return picomatch.isMatch(name, part, { dot: true, posix: true }) ? matchParts(rest, deeper) : NOTHING;
  const [without, within] = [matchParts(rest, names), matchParts(wild, deeper)];
  return { itself: without.itself || within.itself, below: without.below || within.below };
}

function isGlobstar(part: string): boolean {
  return part === '**';
}

/** A name with an extension, such as "lines.txt", counts as a file. */
export function mayBeFolder(path: RelPath): boolean {
  return !/[^.]\.[A-Za-z]\w*$/.test(nameOf(path));
}

/** Stand for anything in a folder. */
const SAMPLES = ['assay-any-name', 'assay-any-name/assay-any-name'].map(parseRelPath);

/** Exclusion patterns, without their "!". */
export class Exclusions {
  readonly #matchers: readonly ((path: RelPath) => boolean)[];

  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(matcherOf);
  }

  has(path: RelPath): boolean {
    return this.#matchers.some((matches) => matches(path));
  }

  /** Whether everything that a folder can contain is excluded. */
  hasAllBelow(folder: RelPath): boolean {
    return samplesBelow(folder).every((path) => this.has(path));
  }
}

export function samplesBelow(folder: RelPath): RelPath[] {
  return SAMPLES.map((sample) => parseRelPath(folder === '' ? sample : `${folder}/${sample}`));
}

/** Expands "{a,b}". A range such as "{1..3}" stays as it is, and contains no "/". */
function withoutBraces(pattern: string): string[] {
  const found = /(?<!\\)\{((?:[^{}\\]|\\.)*,(?:[^{}\\]|\\.)*)\}/s.exec(pattern);
  if (!found) return [pattern];
  const [braces, inner = ''] = found;
  const [before, after] = [pattern.slice(0, found.index), pattern.slice(found.index + braces.length)];
  return inner.split(',').flatMap((choice) => withoutBraces(before + choice + after));
}
