// The folder in which an output lies, held open: whatever is renamed or swapped for a link meanwhile, what is done through
// the anchor is done in that folder, and never behind a link. Each part of the way is opened from the one before and may
// be no link itself. By /proc/self/fd, which is Linux's way to name what is held open.
import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { nameToBytes, parentOf, type RelPath, ROOT } from '../../core/path.ts';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Calls `work` with a path to the last part of `path`, in its folder; makes the folders that are not there. */
export function withOpenParent<T>(workspace: string, path: RelPath, work: (target: Buffer) => T): T {
  const parent = parentOf(path);
  const parts = parent === ROOT ? [] : parent.split('/');
  let folder = openSync(workspace, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const part of parts) {
      const next = openPart(folder, part, path);
      closeSync(folder);
      folder = next;
    }
    return work(below(folder, path.slice(parent === ROOT ? 0 : parent.length + 1)));
  } finally {
    closeSync(folder);
  }
}

function openPart(folder: number, part: string, path: RelPath): number {
  const target = below(folder, part);
  try {
    return openSync(target, FOLDER);
  } catch (error) {
    if (isSystemError(error, 'ELOOP', 'ENOTDIR')) {
      throw new AssayError('ASSAY_OUTPUT_UNFIT', `${path} lies behind a symbolic link or a file, ${part}`);
    }
    if (!isSystemError(error, 'ENOENT')) throw error;
  }
  mkdirUnlessThere(target);
  return openSync(target, FOLDER);
}

function mkdirUnlessThere(target: Buffer): void {
  try {
    mkdirSync(target);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
}

function below(folder: number, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), nameToBytes(name)]);
}
