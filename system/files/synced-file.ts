// Small files of a user's own that must survive a power failure: written beside their place, synced, and renamed or linked.
// Guaranteed: what is under a name that a caller gave is whole and on the disk, once its folder is synced.
import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

/** A new file that only its owner may read. `prepare` is called before anything is in it. */
export function writeSynced(
  file: string,
  content: string | Uint8Array,
  prepare?: (descriptor: number) => void,
): void {
  withOpen(openSync(file, 'wx', 0o600), (descriptor) => {
    prepare?.(descriptor);
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
  });
}

/** The names in it are on the disk when this returns. */
export function syncNames(folder: string): void {
  withOpen(openSync(folder, 'r'), fsyncSync);
}

function withOpen(descriptor: number, work: (descriptor: number) => void): void {
  try {
    work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
