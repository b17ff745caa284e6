// Removes each folder `node_modules` that a command made and that holds nothing but caches of its tools.
// Guaranteed: a folder that was there before, holds anything else, or may be in use by another action of this process stays.
//
// npm and yarn install the packages of a workspace at its root. So vitest and vite make such a folder in each package
// in which they run. Left there, it is no part of a clean copy: tsc, eslint and others look for packages in it, and
// their results would miss in a fresh clone.
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isWithin, parentOf, type RelPath } from '../../core/path.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { isInToolCache, isPackageFolder } from '../../hermeticity/verdict/tool-caches.ts';
import { type AbsPath, absPath, relativeIn } from '../../system/paths/absolute-path.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';

/** `isInUse`: whether another action works in the folder around it. */
export function removeNewCaches(
  request: RunRequest,
  report: TraceReport,
  isInUse: (folder: RelPath) => boolean,
): void {
  const workspace = absPath(request.workspace);
  const kept = [...request.outputs, ...stateAndCheckpointPaths(request)];
  for (const access of report.accesses) {
    if (access.kind !== 'write' || !access.created || !access.folder) continue;
    const path = relativeIn(workspace, access.path);
    if (path === undefined || !isPackageFolder(path) || isInUse(parentOf(path))) continue;
    if (kept.some((one) => isWithin(one, path) || isWithin(path, one))) continue;
    if (gotCache(report, access.path, path) && holdsOnlyCaches(access.path, path))
      rmSync(access.path, { recursive: true, force: true });
  }
}

/** Whether the command ever wrote a cache there: an empty folder may be meant for something else. */
function gotCache(report: TraceReport, folder: AbsPath, path: RelPath): boolean {
  return report.accesses.some((access) => {
    const inside = access.kind === 'write' ? relativeIn(folder, access.path) : undefined;
    return inside !== undefined && isCache(`${path}/${inside}` as RelPath);
  });
}

function isCache(path: RelPath): boolean {
  return isInToolCache(path, () => false);
}

function holdsOnlyCaches(folder: string, path: RelPath): boolean {
  try {
    return namesIn(folder).every((name) => {
      if (!isCache(`${path}/${name}` as RelPath)) return false;
      // The first holds the dependencies of a development server, the second a configuration that is read just now.
      if (name === '.vite') return namesIn(join(folder, name)).every((one) => one === 'vitest');
      return name !== '.vite-temp' || namesIn(join(folder, name)).length === 0;
    });
  } catch {
    return false;
  }
}

/** Throws if it is no folder. */
function namesIn(folder: string): string[] {
  if (!lstatSync(folder).isDirectory()) throw new Error(`${basename(folder)} is no folder`);
  return readdirSync(folder);
}
