// The lock of one output on disk: a symbolic link `.assay/lock-<output>` whose target names the owner
// process.
//
//   F1  A lock appears together with its owner, in one system call.
//   F2  A lock that names this process is held by this process: nobody writes a lock in another's name.
//   F3  Every wait ends. A lock is broken if its owner has ended, or has not touched it for RUN.lockStaleMs
//       (RUN.lockSilentMs if the owner can be seen to run).
//   F4  One process at a time breaks a lock, and checks again first. So no run breaks a fresh lock.
//   F5  A lock makes other runs wait, and nothing else: anybody may put one into a workspace, so it never
//       decides what is killed or deleted.
//
//   free ──tryLock──> held ──removeOwn──> free
//                      │ owner ended: certain; untouched for too long: likely
//                      └──breakIfAbandoned──> free; after "likely" the next run does not publish
//
// While a process stages files, its locks are hard links to one symbolic link. A thousand new links would
// take a thousand inodes, which some file systems reuse only after minutes (docs/decisions/0162).
import {
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { isSystemError, messageOf } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import {
  identityText,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../../system/process/process-identity.ts';
import { RUN } from '../limits.ts';
import { makeAssayFolder, removeIfEmpty, sharedStagingFolder } from './staging.ts';

const NAMED = 'lock-';
const SHORTENED = 'locked-';
/** File systems allow 255 bytes; `takeover-` comes before the name of a lock that is broken. */
const LONGEST_NAME = 200;
const SLASH = encodeURIComponent('/');

/** The name holds the output's path, or its beginning and a hash if the path is too long. */
export function lockPath(home: string, output: RelPath): string {
  const text = encodeURIComponent(output);
  if (text.length + NAMED.length <= LONGEST_NAME) return join(home, `${NAMED}${text}`);
  const { hash } = digestOf(Buffer.from(output));
  return join(
    home,
    `${SHORTENED}${text.slice(0, LONGEST_NAME - SHORTENED.length - hash.length - 1)}~${hash}`,
  );
}

/** Whether a lock's output contains `output` or lies in it. True also if a shortened name leaves it open. */
export function overlaps(name: string, output: RelPath): boolean {
  const own = `${encodeURIComponent(output)}${SLASH}`;
  if (name.startsWith(SHORTENED)) {
    const beginning = name.slice(SHORTENED.length, name.lastIndexOf('~'));
    return own.startsWith(beginning) || beginning.startsWith(own);
  }
  const other = `${name.slice(NAMED.length)}${SLASH}`;
  return name.startsWith(NAMED) && (own.startsWith(other) || other.startsWith(own));
}

/** Whether another run works on an output in the folder. `own`: the outputs of this one. */
export function isLockedByOthers(home: string, folder: RelPath, own: readonly RelPath[]): boolean {
  if (!existsSync(home)) return false;
  const ours = new Set(own.map((output) => basename(lockPath(home, output))));
  return readdirSync(home).some((name) => !ours.has(name) && overlaps(name, folder));
}

/** For messages. */
export function outputOfLock(name: string): string {
  try {
    return decodeURIComponent(name.slice(NAMED.length));
  } catch {
    return name;
  }
}

/** `impossible`: why no lock can be made here, and what to do. */
export function tryLock(path: string): 'taken' | 'held' | { readonly impossible: string } {
  const home = dirname(path);
  try {
    if (lstatSync(home).isSymbolicLink()) return { impossible: `.assay is a symbolic link: rm ${home}` };
    if (!linkToOwn(home, path)) symlinkSync(identityText(ownIdentity()), path);
    return 'taken';
  } catch (error) {
    // The folder does not exist yet, or another run has just removed it because it was empty.
    if (isSystemError(error, 'ENOENT')) {
      const why = whyNot(home);
      return why === undefined ? tryLock(path) : { impossible: why };
    }
    if (isSystemError(error, 'EEXIST'))
      return isLock(path) ? 'held' : { impossible: `${path} is no lock: rm -r ${path}` };
    return { impossible: `${messageOf(error)}: ${remedyFor(home)}` };
  }
}

/** Sets the mtime first: a process in another pid namespace can judge the lock only by its age. */
function linkToOwn(home: string, lock: string): boolean {
  const folder = sharedStagingFolder(home);
  if (folder === undefined) return false;
  const own = join(folder, 'lock');
  try {
    if (!touch(own)) symlinkSync(identityText(ownIdentity()), own);
    linkSync(own, lock);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) throw error;
    return false;
  }
}

/** Makes the folder; returns why it cannot. */
function whyNot(home: string): string | undefined {
  try {
    makeAssayFolder(home);
    return undefined;
  } catch (error) {
    return `${messageOf(error)}: ${remedyFor(home)}`;
  }
}

function remedyFor(home: string): string {
  const stats = lstatSync(home, { throwIfNoEntry: false });
  if (!stats) return `chmod u+w ${dirname(home)}`;
  if (!stats.isDirectory()) return `rm ${home}`;
  return stats.uid === process.getuid?.() ? `chmod u+rwx ${home}` : `sudo rm -r ${home}`;
}

/** False for a file or folder that happens to have the name of a lock. True if nothing is there. */
export function isLock(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== false;
}

/** Undefined if the lock is gone or malformed. */
export function ownerOf(lock: string): ProcessIdentity | undefined {
  try {
    return parseIdentity(readlinkSync(lock));
  } catch {
    return undefined;
  }
}

/** Whether the lock names this process (F2). */
export function isHeldHere(lock: string): boolean {
  try {
    return readlinkSync(lock) === identityText(ownIdentity());
  } catch {
    return false;
  }
}

/**
 * How long a lock was not touched, by its mtime or by this process's own clock: the mtime may lie in the
 * future.
 */
export class LockAges {
  readonly #seen = new Map<string, { readonly mtimeMs: number; readonly since: number }>();

  of(lock: string): number {
    const { mtimeMs } = lstatSync(lock);
    const now = Date.now();
    const seen = this.#seen.get(lock);
    const since = seen?.mtimeMs === mtimeMs ? seen.since : now;
    this.#seen.set(lock, { mtimeMs, since });
    return Math.max(now - mtimeMs, now - since);
  }
}

/**
 * `certain`: the owner is a process of this user and has ended. `likely`: the lock was not touched for long;
 * the owner may be stopped, in another container or another user's, or Assay did not make the lock.
 */
type Abandonment = 'certain' | 'likely' | undefined;

function abandonment(lock: string, ages: LockAges): Abandonment {
  try {
    const owner = parseIdentity(readlinkSync(lock));
    if (!owner) return 'likely';
    const liveness = livenessOf(owner);
    if (liveness === 'ended') return lstatSync(lock).uid === process.getuid?.() ? 'certain' : 'likely';
    const limitMs = liveness === 'running' ? RUN.lockSilentMs : RUN.lockStaleMs;
    return ages.of(lock) > limitMs ? 'likely' : undefined;
  } catch {
    return undefined;
  }
}

/** False if the link is gone: the command may have removed all of .assay. */
export function touch(link: string): boolean {
  try {
    const now = Date.now() / 1000;
    lutimesSync(link, now, now);
    return true;
  } catch {
    return false;
  }
}

/** The guard keeps two runs that both saw the dead owner from breaking each other's fresh lock (F4). */
export function breakIfAbandoned(lock: string, ages: LockAges): Abandonment {
  if (!abandonment(lock, ages)) return undefined;
  const guard = join(dirname(lock), `takeover-${basename(lock)}`);
  try {
    mkdirSync(guard);
  } catch {
    removeIfOld(guard);
    return undefined;
  }
  const now = abandonment(lock, ages);
  if (now) remove(lock);
  rmdirSync(guard);
  return now;
}

function removeIfOld(guard: string): void {
  try {
    const stats = lstatSync(guard);
    if (!stats.isDirectory()) unlinkSync(guard);
    else if (Date.now() - stats.mtimeMs > RUN.orphanEndsMs) removeIfEmpty(guard);
  } catch {
    // Another run has removed it.
  }
}

/** Keeps a lock that another run has made since: the command may have removed all of .assay. */
export function removeOwn(lock: string): void {
  if (isHeldHere(lock)) remove(lock);
}

function remove(lock: string): void {
  try {
    unlinkSync(lock);
  } catch {
    // Another run has removed it.
  }
}
