// Compiles declared patterns: which folders to scan, and whether a path is an input. The order of patterns
// does not matter: a path is an input if some pattern matches it and no "!" pattern does.

import picomatch from 'picomatch';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath, relPathFromUser } from '../../core/path.ts';
import type { InputPattern } from '../action/request.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { DECLARED } from '../limits.ts';

export interface CompiledPattern {
  readonly source: string;
  readonly optional: boolean;
  /** Only paths in this folder (or file) can match. */
  readonly base: RelPath;
  /** Names one path without wildcards: it counts even if .gitignore hides it. */
  readonly literal: boolean;
  matches(path: RelPath): boolean;
}

export interface Patterns {
  readonly takes: readonly CompiledPattern[];
  excludes(path: RelPath): boolean;
}

export function compilePatterns(observations: StatRecorder, inputs: readonly InputPattern[]): Patterns {
  const takes = inputs.filter(({ pattern }) => !pattern.startsWith('!'));
  const leaves = inputs.filter(({ pattern }) => pattern.startsWith('!'));
  const exclusions = leaves.map(({ pattern }) => compile(observations, pattern.slice(1), true));
  return {
    takes: takes.map(({ pattern, optional }) => compile(observations, pattern, optional)),
    excludes: (path) => exclusions.some((exclusion) => exclusion.matches(path)),
  };
}

/** A matcher by the pattern's text alone; nothing is read from disk. */
export function matcherOf(source: string): (path: RelPath) => boolean {
  return compileText(source, true).matches;
}

function compile(observations: StatRecorder, source: string, optional: boolean): CompiledPattern {
  if (source.startsWith('/')) {
    throw new AssayError('ASSAY_BAD_PATH', `the input ${JSON.stringify(source)} is absolute`);
  }
  const exact = existingPath(observations, source);
  return exact === undefined ? compileText(source, optional) : literal(source, exact, optional);
}

/** Patterns by their text: an action has each of its own compiled four times. */
const compiled = new Map<string, CompiledPattern>();

function compileText(source: string, optional: boolean): CompiledPattern {
  const known = compiled.get(source) ?? compileAnew(source);
  if (compiled.size >= DECLARED.compiledPatterns) compiled.clear();
  compiled.set(source, known);
  return known.optional === optional ? known : { ...known, optional };
}

function compileAnew(source: string): CompiledPattern {
  const { base, isGlob } = picomatch.scan(source);
  if (!isGlob) return literal(source, relPathFromUser(unescaped(source)), false);
  const folder = relPathFromUser(unescaped(base));
  return {
    source,
    optional: false,
    base: folder,
    literal: false,
    matches: globMatcher(tidy(source), folder),
  };
}

/** A path that exists as typed is literal: "pages/[id].tsx" is a file before it is a glob. */
function existingPath(observations: StatRecorder, source: string): RelPath | undefined {
  if (!/^[^*]+$/.test(source)) return undefined;
  const path = relPathFromUser(source);
  return observations.lstat(path) ? path : undefined;
}

function literal(source: string, path: RelPath, optional: boolean): CompiledPattern {
  return { source, optional, base: path, literal: true, matches: (candidate) => isWithin(candidate, path) };
}

/** Removes backslashes, which escape the next character. Only for patterns without wildcards. */
function unescaped(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, '$1');
}

/** "folder/**" is by far the most common pattern and needs no regular expression. */
function globMatcher(pattern: string, base: RelPath): (path: RelPath) => boolean {
  if (pattern === '**') return () => true;
  if (pattern === `${base}/**`) {
    const prefix = `${base}/`;
    return (path) => path.startsWith(prefix);
  }
  return picomatch(pattern, { dot: true, posix: true });
}

function tidy(pattern: string): string {
  return pattern.replace(/^(\.\/+)+/, '').replaceAll(/\/{2,}/g, '/');
}
