// Makes a folder with its missing parents. It always returns or throws.
//
// Node's recursive mkdir does not: where an existing folder takes no new one and answers ENOENT, as /proc
// does, it tries for ever. Sources use this function instead; a test holds that.
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSystemError } from '../../core/errors.ts';

/** `mode` is for every folder that it makes. No effect if the folder exists. */
export function makeFolder(path: string | Buffer, mode = 0o777): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (isSystemError(error, 'EEXIST') && isFolder(path)) return;
    const parent = parentOf(path);
    if (!isSystemError(error, 'ENOENT') || isFolder(parent)) throw error;
    makeFolder(parent, mode);
    makeFolder(path, mode);
  }
}

function isFolder(path: string | Buffer): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** latin1 keeps every byte of a name that is not UTF-8. */
function parentOf(path: string | Buffer): string | Buffer {
  if (typeof path === 'string') return dirname(path);
  return Buffer.from(dirname(path.toString('latin1')), 'latin1');
}
