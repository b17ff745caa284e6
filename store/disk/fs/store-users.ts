// Finds the other processes that have a store's index open: LMDB keeps its lock file open as long as the
// index.
//
// It finds only processes of the same user and PID namespace. A server in another container detects by itself
// that its store is gone (same-file.ts), and stops writing.
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

const LOCK_FILE = 'lock.mdb';

interface User {
  readonly pid: number;
  /** The command line. */
  readonly command: string;
}

export function usersOf(indexFolder: string): User[] {
  const lock = statSync(join(indexFolder, LOCK_FILE), { throwIfNoEntry: false });
  if (!lock) return [];
  const isLock = (path: string) => {
    if (!readlinkSync(path).endsWith(LOCK_FILE)) return false;
    const { dev, ino } = statSync(path);
    return dev === lock.dev && ino === lock.ino;
  };
  return processes()
    .filter((pid) => filesOf(pid).some((path) => orElse(false, () => isLock(path))))
    .map((pid) => ({ pid, command: commandOf(pid) }));
}

function processes(): number[] {
  const names = orElse([], () => readdirSync('/proc'));
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

function filesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return orElse([], () => readdirSync(folder)).map((name) => join(folder, name));
}

function commandOf(pid: number): string {
  const words = orElse('', () => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  return words.filter(Boolean).join(' ').slice(0, 200);
}

/** Processes end, and many belong to other users. */
function orElse<T>(otherwise: T, ask: () => T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}
