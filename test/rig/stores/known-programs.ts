// The digests of large programs, which each store of a test has from the start, as a store that was used before.
// Without them each test with a store of its own hashes the 150 MB of node once more.
//
// A digest is taken only for the same size, times and inode (client/files/stat-index.ts), so a test that replaces a
// program sees that. A test that wants an empty store makes the folder itself.
import { copyFileSync, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

const KNOWN = join(import.meta.dirname, '../../../dist/known-programs.index');

const programsIn = (store: string) => join(store, 'client/stat/programs.index');

/** Whether the store was made now. It is not made where a test wants none: in /proc, in a folder that is not there. */
export function teachPrograms(store: string): boolean {
  if (!isAbsolute(store)) return false;
  try {
    mkdirSync(store, { mode: 0o700 });
  } catch {
    return false;
  }
  if (existsSync(KNOWN)) {
    mkdirSync(dirname(programsIn(store)), { recursive: true, mode: 0o700 });
    copyFileSync(KNOWN, programsIn(store));
  }
  return true;
}

/** Takes over what a run in a new store has hashed. */
export function learnPrograms(store: string): void {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeOf(programsIn(store)) <= sizeOf(KNOWN)) return;
  const copy = `${KNOWN}.${process.pid}`;
  copyFileSync(programsIn(store), copy);
  renameSync(copy, KNOWN);
}
