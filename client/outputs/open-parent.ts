// Opens the parent folder of an output and works through the open descriptor.
// Every operation stays in that folder, even if a part of the path is meanwhile renamed or replaced by a
// link.
//
// Each part of the path is opened relative to the one before, with O_NOFOLLOW. /proc/self/fd names the open
// folder.
import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { nameToBytes, parentOf, type RelPath, ROOT } from '../../core/path.ts';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

type Work<T> = (target: Buffer) => T;

/** Calls `work` with the path of the last part, below the open parent. Makes missing parent folders. */
export function withOpenParent<T>(workspace: string, path: RelPath, work: Work<T>): T {
  return within(workspace, path, work, mkdirUnlessThere);
}

/** The same; undefined if a parent folder is missing. */
export function withPresentParent<T>(workspace: string, path: RelPath, work: Work<T>): T | undefined {
  try {
    return within(workspace, path, work, throwMissing);
  } catch (error) {
    if (error === MISSING) return undefined;
    throw error;
  }
}

const MISSING = new Error('a parent folder is missing');

function throwMissing(): never {
  throw MISSING;
}

function within<T>(workspace: string, path: RelPath, work: Work<T>, onMissing: (folder: Buffer) => void): T {
  const parent = parentOf(path);
  const parts = parent === ROOT ? [] : parent.split('/');
  let folder = openSync(workspace, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const part of parts) {
      const next = openPart(folder, part, path, onMissing);
      closeSync(folder);
      folder = next;
    }
    return work(below(folder, path.slice(parent === ROOT ? 0 : parent.length + 1)));
  } finally {
    closeSync(folder);
  }
}

function openPart(folder: number, part: string, path: RelPath, onMissing: (folder: Buffer) => void): number {
  const target = below(folder, part);
  try {
    return openSync(target, FOLDER);
  } catch (error) {
    if (isSystemError(error, 'ELOOP', 'ENOTDIR')) {
      throw new AssayError('ASSAY_OUTPUT_UNFIT', `${path} lies behind a symbolic link or a file, ${part}`);
    }
    if (!isSystemError(error, 'ENOENT')) throw error;
  }
  onMissing(target);
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
