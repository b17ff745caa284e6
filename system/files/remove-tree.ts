// Removes a folder tree, even one that its owner cannot read. A command may leave folders and files without
// read permission. Where permission is missing, this file adds it and tries again.
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

/** Calls `access`; if permission is missing, adds it to `path` for the owner and calls it again. */
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
