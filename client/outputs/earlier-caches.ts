// Finds the caches that tools have left in the working directory of an action, to set them aside: the command
// then runs as in a fresh checkout (docs/TOOL-CACHES.md). They come back if the command fails.
//
// Not set aside: what is declared or tracked by git; a cache that another action of this process may use now;
// a folder of cargo that somebody builds in, or that holds no output of this action. If the command reads
// such a cache, that is a finding.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childOf, isWithin, parentOf, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import type { KeyedAction } from '../run/key.ts';

const IN_WORKING_DIRECTORY = /^(?:\.benchmarks|\.eslintcache|\.pytest_cache|.*\.tsbuildinfo)$/;
/** webpack, Babel and terser; vitest. */
const IN_NODE_MODULES = ['.cache', '.vitest-cache'];
/** pytest keeps it beside its configuration, which may lie above. */
const IN_FOLDERS_ABOVE = '.pytest_cache';

/** How many actions of this process run in each folder. */
const running = new Map<string, number>();

/** Call `done` after the command. */
export function findEarlierCaches({ request, inputs }: Pick<KeyedAction, 'request' | 'inputs'>): {
  readonly caches: readonly RelPath[];
  done(): void;
} {
  const { workspace, workingDirectory } = request;
  const folder = toSystemPath(workspace, workingDirectory).toString();
  const others = running.get(folder) ?? 0;
  running.set(folder, others + 1);
  const done = () => {
    const count = (running.get(folder) ?? 1) - 1;
    if (count === 0) running.delete(folder);
    else running.set(folder, count);
  };
  if (others > 0 || request.sandbox) return { caches: [], done };
  const declared = inputs.entries().map(({ path }) => path);
  const isFree = (path: RelPath) =>
    !overlapsDeclared(path, request, declared) && isTracked(workspace, path) === false;
  return { caches: candidates(request).filter(isFree), done };
}

function candidates(request: RunRequest): RelPath[] {
  const { workspace, workingDirectory: folder } = request;
  const names = namesIn(workspace, folder);
  const found = names.filter((name) => IN_WORKING_DIRECTORY.test(name)).map((name) => childOf(folder, name));
  if (names.includes('node_modules'))
    for (const name of IN_NODE_MODULES) found.push(childOf(childOf(folder, 'node_modules'), name));
  if (names.includes('target') && names.includes('Cargo.toml')) {
    const target = childOf(folder, 'target');
    const isOurs = request.outputs.some((output) => isWithin(output, target));
    if (isOurs && !isBuiltIn(toSystemPath(workspace, target).toString())) found.push(target);
  }
  for (let above = folder; above !== ROOT; ) {
    above = parentOf(above);
    found.push(childOf(above, IN_FOLDERS_ABOVE));
  }
  return found.filter((path) => exists(workspace, path));
}

/** An output inside the cache is no obstacle: it is set aside itself. */
function overlapsDeclared(path: RelPath, request: RunRequest, inputs: readonly RelPath[]): boolean {
  const kept = [...inputs, ...stateAndCheckpointPaths(request)];
  return (
    kept.some((one) => isWithin(one, path) || isWithin(path, one)) ||
    request.outputs.some((output) => isWithin(path, output))
  );
}

/** Whether a process holds the lock of a folder that cargo builds in. True if nobody can tell. */
function isBuiltIn(target: string): boolean {
  try {
    const locks = readFileSync('/proc/locks', 'latin1');
    return namesInFolder(target)
      .map((profile) => inodeOf(join(target, profile, '.cargo-lock')))
      .some((inode) => inode !== undefined && locks.includes(`:${inode} `));
  } catch {
    return true;
  }
}

/** Undefined also if the path leads through a file. */
function inodeOf(path: string): number | undefined {
  try {
    return lstatSync(path).ino;
  } catch {
    return undefined;
  }
}

function namesIn(workspace: string, folder: RelPath): string[] {
  return namesInFolder(toSystemPath(workspace, folder).toString());
}

function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function exists(workspace: string, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
}
