// Which other processes have a store's index open: LMDB keeps its lock file open for as long as it has the index.
//
// Only processes that this one may see are found: those of the same user and the same PID namespace. A server in another
// container notices by itself that its store is gone (same-file.ts), and writes nothing more.
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

const LOCK_FILE = 'lock.mdb';

export interface User {
  readonly pid: number;
  /** As it was started. */
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

/** Processes and their files come and go, and many are somebody else's. */
function orElse<T>(otherwise: T, ask: () => T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}
