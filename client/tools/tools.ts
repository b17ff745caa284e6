// Tools: the programs that an action runs, found as the caller finds them, and in the key by content.
//
// A tool's identity is the digest of its executable and of everything that starts with it: a script's
// interpreter (and that interpreter's own), the program that pnpm's shim starts, and the package.json of an npm
// package, because the file in `bin` is often a stub. A tool's path is not in the key.

import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Property } from '../../core/action.ts';
import { AssayError, type ErrorCode } from '../../core/errors.ts';
import { absPath } from '../../system/paths/absolute-path.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { realPathOf } from '../files/real-path.ts';
import { type FileMark, markOf, onlyLinksDiffer } from '../files/stat-index.ts';
import { sameRow } from '../files/stat-table.ts';
import { mayBePlaced, placedState } from '../lenses/placed-text.ts';
import { DECLARED } from '../limits.ts';
import { type PackageShim, packageShimAt } from './package-shim.ts';

export interface Tool {
  /** As declared: "node", "./scripts/gen". */
  readonly name: string;
  readonly file: string;
  /** The same without links, when it was found: a link that changes while a command runs changes the stamp. */
  readonly real: string;
  /** The digests that form its identity, joined. */
  readonly identity: string;
  /** The stats of its files as text: any change alters it, even if undone. */
  readonly stamp: string;
  /** The same as numbers, to check that they had settled before the tool is remembered. */
  readonly marks: readonly ToolMark[];
  /** Interpreters that its first line searches on PATH: the command must find them too. */
  readonly interpreters: readonly Tool[];
}

interface ToolMark extends FileMark {
  readonly file: string;
}

export interface ToolSearch {
  /** The caller's PATH. */
  readonly path: string;
  /** The base of names with a slash. */
  readonly folder: string;
  readonly digests: FileDigests;
  /** A script of the workspace that its installer wrote counts without this path. */
  readonly workspace?: string;
}

const STAMP_JOINT = '+';
const PACKAGES = '/node_modules/';

export function resolveTool(
  name: string,
  search: ToolSearch,
  missing: ErrorCode = 'ASSAY_TOOL_NOT_FOUND',
): Tool {
  return resolveAtDepth(name, search, missing, 0);
}

/** The program may have the name of a declared tool and be another file. */
export function toolProperties([program, ...tools]: readonly [Tool, ...Tool[]]): Property[] {
  return [
    { name: `program:${program.name}`, value: program.identity },
    ...tools.map(({ name, identity }) => ({ name: `tool:${name}`, value: identity })),
  ];
}

function resolveAtDepth(name: string, search: ToolSearch, missing: ErrorCode, depth: number): Tool {
  const file = locate(name, search);
  if (file === undefined)
    throw new AssayError(
      missing,
      `${JSON.stringify(name)} is not an executable file${whereSought(name, search.path)}`,
    );
  const real = realPathOf(file);
  const shim = packageShimAt(real);
  const own = examine(real, search);
  const interpreters = depth < DECLARED.deepestInterpreter ? interpretersOf(real, shim, search, depth) : [];
  const target = shim?.target === undefined ? [] : [examine(shim.target, search)];
  const folder = packageFolder(shim?.target ?? real);
  const manifest = folder === undefined ? [] : [examine(join(folder, 'package.json'), search)];
  const parts = [own, ...interpreters, ...target, ...manifest];
  const identity = parts.map((part) => part.identity).join('+');
  const stamp = parts.map((part) => part.stamp).join(STAMP_JOINT);
  const marks = parts.flatMap((part) => part.marks);
  return { name, file, real, identity, stamp, marks, interpreters };
}

/** Whether nothing touched the tool since, or only somebody's hard links did. `now` has read the content. */
export function isStill(before: Tool | undefined, now: Tool): boolean {
  if (before?.stamp === now.stamp) return true;
  const isSame = before?.file === now.file && before.identity === now.identity;
  return (
    isSame &&
    now.marks.every((mark, at) => {
      const earlier = before.marks[at];
      if (earlier?.file !== mark.file) return false;
      return sameRow(earlier.row, mark.row) || onlyLinksDiffer(mark.file, earlier, mark);
    })
  );
}

/** The stamp of the found file alone, without interpreters; undefined if nothing is found. */
export function ownStamp(name: string, search: Pick<ToolSearch, 'path' | 'folder'>): string | undefined {
  const file = locate(name, search);
  if (file === undefined) return undefined;
  const real = realPathOf(file);
  return stampOf(real, statSync(real));
}

/** Whether the program exists. */
export function isFindable(name: string, search: Pick<ToolSearch, 'path' | 'folder'>): boolean {
  return locate(name, search) !== undefined;
}

function locate(name: string, { path, folder }: Pick<ToolSearch, 'path' | 'folder'>): string | undefined {
  if (name.includes('/')) {
    const file = isAbsolute(name) ? name : join(folder, name);
    return isExecutable(file) ? file : undefined;
  }
  return path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry))
    .map((entry) => join(entry, name))
    .find(isExecutable);
}

/** Where a program would be found on `path` alone. */
export function locateOnPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((entry) => join(entry, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    // stat first: most candidates of a search are missing, and an exception for each would dominate the cost.
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function examine(file: string, search: ToolSearch): Pick<Tool, 'identity' | 'stamp' | 'marks'> {
  const stats = statSync(file);
  const identity =
    identityInPlace(file, stats, search) ?? search.digests.digest(file, stats, () => file).hash;
  return {
    identity,
    stamp: stampOf(file, stats),
    marks: [{ file, ...markOf(stats) }],
  };
}

function identityInPlace(file: string, stats: Stats, { workspace }: ToolSearch): string | undefined {
  if (workspace === undefined || !mayBePlaced(absPath(workspace), absPath(file))) return undefined;
  return placedState(absPath(workspace), absPath(file), stats);
}

function stampOf(file: string, { ino, mtimeMs, ctimeMs }: Stats): string {
  return [file, ino, mtimeMs, ctimeMs].join(':');
}

/** Whether the stamp covers a single file. Otherwise the whole search must be repeated. */
export function isOfOneFile(stamp: string): boolean {
  return stamp !== '' && !stamp.includes(STAMP_JOINT) && !stamp.includes(PACKAGES);
}

/** `#!/bin/sh -e` names a file; `#!/usr/bin/env node` names a file that searches PATH for another. */
function interpretersOf(
  file: string,
  shim: PackageShim | undefined,
  search: ToolSearch,
  depth: number,
): Tool[] {
  const words = shebangOf(file);
  const [interpreter, ...rest] = words;
  if (interpreter === undefined) return [];
  const found = [resolveAtDepth(interpreter, search, 'ASSAY_TOOL_NOT_FOUND', depth + 1)];
  if (basename(interpreter) === 'env') {
    const program = programOfEnv(rest);
    if (program !== undefined) found.push(resolveAtDepth(program, search, 'ASSAY_TOOL_NOT_FOUND', depth + 1));
  }
  if (shim?.program !== undefined)
    found.push(resolveAtDepth(shim.program, search, 'ASSAY_TOOL_NOT_FOUND', depth + 1));
  return found;
}

/** The first word that is no option of env, no option's argument and no assignment. */
function programOfEnv(words: readonly string[]): string | undefined {
  return words.find((word, at) => {
    const isArgument = ['-u', '--unset', '-C', '--chdir'].includes(words[at - 1] ?? '');
    return !isArgument && !word.startsWith('-') && !word.includes('=');
  });
}

function shebangOf(file: string): string[] {
  const start = Buffer.alloc(DECLARED.shebangBytes);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, start, 0, DECLARED.shebangBytes, 0);
  } finally {
    closeSync(descriptor);
  }
  if (start.toString('latin1', 0, 2) !== '#!') return [];
  const line = start.toString('utf8', 2).split('\n', 1)[0] ?? '';
  return line
    .replaceAll('\0', '')
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** The folder of the npm package that contains the file, if any. */
function packageFolder(file: string): string | undefined {
  const at = file.lastIndexOf(PACKAGES);
  if (at === -1) return undefined;
  const packages = `${file.slice(0, at)}/node_modules`;
  for (let folder = dirname(file); folder.length > packages.length; folder = dirname(folder)) {
    if (statSync(join(folder, 'package.json'), { throwIfNoEntry: false })?.isFile()) return folder;
  }
  return undefined;
}

function whereSought(name: string, path: string): string {
  return name.includes('/') ? ' in the workspace' : ` on PATH (${path})`;
}
