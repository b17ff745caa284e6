// The folder that `assay prune` writes. It is built beside its place and renamed, so it is there whole or not at all.
// Guarantee: an existing folder is replaced only if it is empty, or if an earlier `assay prune` made it: a marker file says so.
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { isSystemError } from '../../core/errors.ts';
import { parentOf, type RelPath, toSystemPath } from '../../core/path.ts';
import { removeTree } from '../../system/files/remove-tree.ts';

const MARKER = '.assay-prune';

export interface OutFile {
  readonly path: RelPath;
  /** Instead of the content of the file. */
  readonly text?: string;
}

/** The name of a folder that was not finished: of a run that goes on, or that was killed. */
export function isUnfinished(name: string): boolean {
  return /^\..+\.prune-\d+$/.test(name);
}

export function refuseUnlessOwn(out: string): void {
  const stats = lstatSync(out, { throwIfNoEntry: false });
  if (!stats) return;
  if (!stats.isDirectory()) throw usage(`${out} is there already, and is no folder`);
  const isOurs = readdirSync(out).length === 0 || existsSync(join(out, MARKER));
  if (!isOurs) throw usage(`${out} is not empty, and no assay prune made it: name another folder with --out`);
}

/** `layouts`: the files of each folder below `out`; "" for `out` itself. */
export function writeOut(out: string, root: string, layouts: ReadonlyMap<string, readonly OutFile[]>): void {
  refuseUnlessOwn(out);
  const around = dirname(out);
  mkdirSync(around, { recursive: true });
  removeLeftovers(around, basename(out));
  const fresh = join(around, unfinished(basename(out), process.pid));
  try {
    mkdirSync(fresh);
    for (const [folder, files] of layouts) copyAll(join(fresh, folder), root, files);
    writeFileSync(
      join(fresh, MARKER),
      'Made by assay prune, which replaces this folder when it runs again.\n',
    );
    removeTree(out);
    renameSync(fresh, out);
  } catch (error) {
    removeTree(fresh);
    throw error;
  }
}

function unfinished(name: string, pid: number): string {
  return `.${name}.prune-${pid}`;
}

function removeLeftovers(around: string, name: string): void {
  for (const found of readdirSync(around).filter(isUnfinished)) {
    const pid = Number(/\d+$/.exec(found)?.[0]);
    if (found === unfinished(name, pid) && (pid === process.pid || !isAlive(pid)))
      removeTree(join(around, found));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !isSystemError(error, 'ESRCH');
  }
}

function copyAll(to: string, root: string, files: readonly OutFile[]): void {
  for (const { path, text } of files) {
    const target = toSystemPath(to, path);
    mkdirSync(toSystemPath(to, parentOf(path)), { recursive: true });
    const source = toSystemPath(root, path);
    if (text !== undefined) writeFileSync(target, text);
    else if (lstatSync(source).isSymbolicLink())
      symlinkSync(readlinkSync(source, { encoding: 'buffer' }), target);
    else copyFileSync(source, target);
  }
}
