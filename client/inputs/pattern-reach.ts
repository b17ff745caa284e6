// What a pattern can match, by its text alone: nothing is looked at on disk, so a fresh checkout gives the same answer as a
// full one. Where the text leaves it open whether a path is a file or a folder, it may be both.
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

/** One way to read a pattern: "{a,b}/*.c" has two. */
export interface Alternative {
  /** The part before the first wildcard. */
  readonly fixed: RelPath;
  /** The parts after it; none: the pattern names `fixed` and all that lies in it. */
  readonly wild: readonly string[];
}

/** Whether a pattern can match a path itself, and something below it. */
export interface Reach {
  readonly itself: boolean;
  readonly below: boolean;
}

const NOTHING: Reach = { itself: false, below: false };

/** What patterns take, without those that no scan would accept either. */
export function includedBy(inputs: readonly InputPattern[]): Alternative[] {
  return inputs.flatMap(({ pattern }) => (pattern.startsWith('!') ? [] : alternativesIn(pattern)));
}

export function exclusionsOf(inputs: readonly InputPattern[]): Exclusions {
  return new Exclusions(inputs.flatMap(({ pattern }) => (pattern.startsWith('!') ? [pattern.slice(1)] : [])));
}

/** None for what names no path of a workspace. */
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
  /* "pages/[id].tsx" is a file of that name before it is a pattern (patterns.ts). */
  const isPlain = read.length === 1 && read[0]?.wild.length === 0;
  return isPlain ? read : [...read, ...written];
}

/** `path` lies below `fixed`, and may be a file or a folder. */
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

/** A name with an ending, such as "lines.txt", is taken for that of a file. */
export function mayBeFolder(path: RelPath): boolean {
  return !/[^.]\.[A-Za-z]\w*$/.test(nameOf(path));
}

/** Stand for whatever lies in a folder. */
const SAMPLES = ['assay-any-name', 'assay-any-name/assay-any-name'].map(parseRelPath);

/** Patterns that take away, given without their "!". */
export class Exclusions {
  readonly #matchers: readonly ((path: RelPath) => boolean)[];

  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(matcherOf);
  }

  has(path: RelPath): boolean {
    return this.#matchers.some((matches) => matches(path));
  }

  /** Whether all that can lie in a folder is taken away. */
  hasAllBelow(folder: RelPath): boolean {
    return samplesBelow(folder).every((path) => this.has(path));
  }
}

export function samplesBelow(folder: RelPath): RelPath[] {
  return SAMPLES.map((sample) => parseRelPath(folder === '' ? sample : `${folder}/${sample}`));
}

/** "{a,b}" spelt out. A range such as "{1..3}" stays as it is, and holds no "/". */
function withoutBraces(pattern: string): string[] {
  const found = /(?<!\\)\{((?:[^{}\\]|\\.)*,(?:[^{}\\]|\\.)*)\}/s.exec(pattern);
  if (!found) return [pattern];
  const [braces, inner = ''] = found;
  const [before, after] = [pattern.slice(0, found.index), pattern.slice(found.index + braces.length)];
  return inner.split(',').flatMap((choice) => withoutBraces(before + choice + after));
}
