// The client folder: `client/` beside the store, where a user's client keeps its state, its history and its
// outbox.
// Only the user can read and write it, whatever the umask is.
//
// Assay trusts the state in it, so a folder that other users could write is deleted. Several users may share
// a store:
// a user who finds `client/` owned by another uses `client-UID`.
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../system/files/make-folder.ts';

const PRIVATE = 0o700;
const OTHERS_MAY_WRITE = 0o022;

/** The mode of files in the client folder. */
export const PRIVATE_FILE = { mode: 0o600 } as const;

const chosen = new Map<string, string>();

export function clientFolder(storeFolder: string): string {
  const folder = chosen.get(storeFolder) ?? usableIn(storeFolder);
  chosen.set(storeFolder, folder);
  return folder;
}

/** Makes the client folder, or a folder in it, with its parents. */
export function makeClientFolder(folder: string): void {
  makeFolder(folder, PRIVATE);
}

function usableIn(storeFolder: string): string {
  for (const name of ['client', `client-${process.getuid?.() ?? 0}`]) {
    const folder = join(storeFolder, name);
    if (isUsable(folder)) return folder;
  }
  return NOWHERE;
}

/** No file can be created below a device, so nothing is recorded. */
const NOWHERE = '/dev/null/client';

function isUsable(folder: string): boolean {
  try {
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (!stats) return true;
    if (!stats.isDirectory() || stats.uid !== process.getuid?.()) return false;
    if ((stats.mode & 0o777) === PRIVATE) return true;
    if (stats.mode & OTHERS_MAY_WRITE) rmSync(folder, { recursive: true });
    else chmodSync(folder, PRIVATE);
    return true;
  } catch {
    return false;
  }
}
