// What a user's client remembers of its runs, beside the store: `client/`, private to the user whatever the umask. It is believed
// when it says that outputs are in place, so what others could have written there is thrown away.
//
// A store may belong to several users. Who finds the folder of another one has `client-UID`.
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PRIVATE = 0o700;
const OTHERS_MAY_WRITE = 0o022;

/** For files that are written there. */
export const PRIVATE_FILE = { mode: 0o600 } as const;

const known = new Map<string, string>();

export function clientFolder(storeFolder: string): string {
  const found = known.get(storeFolder) ?? usableIn(storeFolder);
  known.set(storeFolder, found);
  return found;
}

/** Makes it, or a folder in it. */
export function makeClientFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: PRIVATE });
}

function usableIn(storeFolder: string): string {
  for (const name of ['client', `client-${process.getuid?.() ?? 0}`]) {
    const folder = join(storeFolder, name);
    if (isUsable(folder)) return folder;
  }
  return NOWHERE;
}

/** Nothing can be made below a device: nothing is remembered then. */
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
