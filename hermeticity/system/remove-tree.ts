// What an action leaves behind may be closed even to its owner: folders without the right to look into them, files without
// the right to read them. Where it is in the way it is opened again.
import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';

export function removeTree(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    if (!isSystemError(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
    openFolders(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `look` is tried again once its object has been opened to the owner. */
export function retryAfterChmod<T>(path: string | Buffer, access: () => T): T {
  try {
    return access();
  } catch (error) {
    if (!isSystemError(error, 'EACCES', 'EPERM')) throw error;
    chmodSync(path, lstatSync(path).mode | 0o700);
    return access();
  }
}

function openFolders(folder: string): void {
  const entries = retryAfterChmod(folder, () => readdirSync(folder, { withFileTypes: true }));
  chmodSync(folder, 0o700);
  for (const entry of entries) if (entry.isDirectory()) openFolders(join(folder, entry.name));
}
