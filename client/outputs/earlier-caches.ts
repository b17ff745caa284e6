// Finds the caches of a command's own tools, to set them aside: the command then runs as in a fresh checkout
// (docs/TOOL-CACHES.md). Afterwards everything comes back that the command did not write again.
//
// Not set aside: what is declared or tracked by git; a cache that another action of this process may use now;
// a folder of cargo that somebody builds in. Such a cache is an ordinary file: what the command reads of it
// is compared before each hit.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin, type RelPath, toSystemPath } from '../../core/path.ts';
import { type OwnedCache, OwnedCaches } from '../action/owned-caches.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { cleanUpKilledRuns } from './run-records.ts';

interface RunningAction {
  readonly workspace: string;
  readonly workingDirectory: RelPath;
  readonly caches: OwnedCaches;
}

/** The actions of this process whose commands run now. */
const running = new Set<RunningAction>();

interface EarlierCaches {
  readonly caches: readonly OwnedCache[];
  /** Whether another action of this process works in the folder now. */
  isInUse(folder: RelPath): boolean;
  /** Call it after the command. */
  done(): void;
}

export function findEarlierCaches({
  request,
  inputs,
}: Pick<KeyedAction, 'request' | 'inputs'>): EarlierCaches {
  const { workspace, workingDirectory } = request;
  const own = { workspace, workingDirectory, caches: new OwnedCaches(request) };
  const others = [...running].filter((action) => action.workspace === workspace);
  running.add(own);
  const done = () => running.delete(own);
  const isInUse = (folder: RelPath) =>
    [...running].some(
      (action) => action !== own && action.workspace === workspace && action.workingDirectory === folder,
    );
  if (request.sandbox || !own.caches.ownsAny) return { caches: [], isInUse, done };
  // A killed run may have left a cache aside.
  cleanUpKilledRuns(workspace);
  const present = own.caches.present();
  const declared = present.length === 0 ? [] : inputs.entries().map(({ path }) => path);
  const isFree = ({ path, folder, tool }: OwnedCache) =>
    !others.some((other) => other.workingDirectory === folder || other.caches.has(path)) &&
    !overlapsDeclared(path, request, declared) &&
    isTracked(workspace, path) === false &&
    !(tool === 'cargo' && isBuiltIn(toSystemPath(workspace, path).toString()));
  return { caches: present.filter(isFree), isInUse, done };
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
    return readdirSync(target)
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
