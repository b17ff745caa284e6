// Copies an action's inputs afresh for each run. No run sees what another run created, and the user's own
// files stay unchanged.
import {
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  lutimesSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { parentOf, type RelPath, ROOT, toSystemPath } from '../../../core/path.ts';
import { makeFolder } from '../../../system/files/make-folder.ts';
import { removeTree } from '../../../system/files/remove-tree.ts';

/** How the same files may differ between two checkouts. */
interface CopyVariation {
  /** Every file has another mtime, in reverse order. */
  readonly otherTimes: boolean;
  /** Modes as a stricter umask would leave them. */
  readonly otherModes: boolean;
}

/** 2000-01-01: older than any tool, and not zero, which some tools read as "unknown". */
const ONE_TIME = Date.UTC(2000, 0, 1);
const MINUTE = 60 * 1000;
const HOUR = 60 * MINUTE;

/** `paths`: files, links and folders of `from`. Created in the order of their names. */
export function makeCopy(
  from: string,
  to: string,
  paths: readonly RelPath[],
  variation: CopyVariation,
): void {
  removeTree(to);
  makeFolder(to);
  copyInto(from, to, paths, variation);
}

/** The same, into an existing folder. */
export function copyInto(from: string, to: string, paths: readonly RelPath[], looks: CopyVariation): void {
  const sorted = [...new Set(paths.flatMap(withParents))].sort();
  for (const path of sorted) copyEntry(from, to, path, looks);
  // In reverse order, because creating a file changes its folder's mtime.
  for (const [index, path] of [...sorted.entries()].reverse()) setTime(toSystemPath(to, path), index, looks);
}

function withParents(path: RelPath): RelPath[] {
  return path === ROOT ? [] : [...withParents(parentOf(path)), path];
}

function copyEntry(from: string, to: string, path: RelPath, { otherModes }: CopyVariation): void {
  const [source, target] = [toSystemPath(from, path), toSystemPath(to, path)];
  const status = lstatSync(source, { throwIfNoEntry: false });
  if (status?.isDirectory()) {
    makeFolder(target);
    chmodSync(target, modeOf(true, otherModes));
  } else if (status?.isSymbolicLink()) symlinkSync(readlinkSync(source, 'buffer'), target);
  else if (status?.isFile()) {
    copyFileSync(source, target, constants.COPYFILE_FICLONE);
    chmodSync(target, modeOf((status.mode & 0o100) !== 0, otherModes));
  }
}

function modeOf(executable: boolean, otherModes: boolean): number {
  if (otherModes) return executable ? 0o700 : 0o600;
  return executable ? 0o755 : 0o644;
}

function setTime(path: string | Buffer, index: number, { otherTimes }: CopyVariation): void {
  const time = new Date(otherTimes ? ONE_TIME + (5000 * 24 + index) * HOUR : ONE_TIME - index * MINUTE);
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) lutimesSync(path, time, time);
}
