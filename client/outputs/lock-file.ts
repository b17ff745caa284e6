// One output's lock: a symbolic link `.assay/lock-<output>` whose target names its owner, so that it is made and filled in one
// step. The lock of a process that has ended, or that no longer touches it, is taken over.
//
// Locks lie in the workspace, where other containers and users see them, and where anybody may have put one. So a lock gives no
// right but to be waited for, and no wait for one is without an end.
//
// While a process stages there, its locks are further names of one link: a thousand links that are made and removed take a
// thousand inodes, which some file systems pass over for minutes before they use them again (docs/decisions/0162).
import {
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
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
} from '../../hermeticity/system/process-identity.ts';
import { RUN } from '../limits.ts';
import { removeIfEmpty, sharedStagingFolder } from './staging.ts';

const NAMED = 'lock-';
const SHORTENED = 'locked-';
/** File systems take 255 bytes, and who takes a lock away puts a word before it. */
const LONGEST_NAME = 200;
const SLASH = encodeURIComponent('/');

/** It tells the output, or how it begins where that is too long for a name. */
export function lockPath(home: string, output: RelPath): string {
  const text = encodeURIComponent(output);
  if (text.length + NAMED.length <= LONGEST_NAME) return join(home, `${NAMED}${text}`);
  const { hash } = digestOf(Buffer.from(output));
  return join(
    home,
    `${SHORTENED}${text.slice(0, LONGEST_NAME - SHORTENED.length - hash.length - 1)}~${hash}`,
  );
}

/** Whether it is the lock of something inside the output or around it; where the name does not tell all, it may be. */
export function overlaps(name: string, output: RelPath): boolean {
  const own = `${encodeURIComponent(output)}${SLASH}`;
  if (name.startsWith(SHORTENED)) {
    const beginning = name.slice(SHORTENED.length, name.lastIndexOf('~'));
    return own.startsWith(beginning) || beginning.startsWith(own);
  }
  const other = `${name.slice(NAMED.length)}${SLASH}`;
  return name.startsWith(NAMED) && (own.startsWith(other) || other.startsWith(own));
}

/** For a person. */
export function outputOfLock(name: string): string {
  try {
    return decodeURIComponent(name.slice(NAMED.length));
  } catch {
    return name;
  }
}

/** A text: why no lock can be made here, and what to do. */
export function tryLock(path: string): 'taken' | 'held' | { readonly impossible: string } {
  const home = dirname(path);
  try {
    if (lstatSync(home).isSymbolicLink()) return { impossible: `.assay is a symbolic link: rm ${home}` };
    if (!linkToOwn(home, path)) symlinkSync(identityText(ownIdentity()), path);
    return 'taken';
  } catch (error) {
    // Nobody has made the home yet, or another run has just removed it, because it was empty.
    if (isSystemError(error, 'ENOENT')) {
      const why = whyNot(home);
      return why === undefined ? tryLock(path) : { impossible: why };
    }
    if (isSystemError(error, 'EEXIST'))
      return isLock(path) ? 'held' : { impossible: `${path} is no lock: rm -r ${path}` };
    return { impossible: `${messageOf(error)}: ${remedyFor(home)}` };
  }
}

/** Touched before it is a lock: who can't see this process goes by that. */
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

/** Undefined if it can be made. */
function whyNot(home: string): string | undefined {
  try {
    mkdirSync(home, { recursive: true });
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

/** And not something else that somebody keeps under that name. */
export function isLock(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== false;
}

/** Undefined if it is gone, or says nothing that makes sense. */
export function ownerOf(lock: string): ProcessIdentity | undefined {
  try {
    return parseIdentity(readlinkSync(lock));
  } catch {
    return undefined;
  }
}

/** It names this process, which nobody else does: whoever takes a lock over puts its own in its place. */
export function isHeldHere(lock: string): boolean {
  try {
    return readlinkSync(lock) === identityText(ownIdentity());
  } catch {
    return false;
  }
}

/** How long a lock has been seen as it is now: its clock may be another one's, or stand in the future. */
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
 * `surely`: its owner is a process of this user and has ended. Otherwise it only was not heard of: in another container, stopped,
 * somebody else's, or the lock is none that Assay made.
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

/** False if it is gone: the command may have removed it, with all of .assay. */
export function touch(link: string): boolean {
  try {
    const now = Date.now() / 1000;
    lutimesSync(link, now, now);
    return true;
  } catch {
    return false;
  }
}

/** Under a lock of its own: else two runs that both saw the dead owner could take away each other's fresh lock. */
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
    // Another run has removed it, or nothing of that name can be.
  }
}

/** Not another run's, which has taken it meanwhile because the command had removed all of .assay. */
export function removeOwn(lock: string): void {
  if (isHeldHere(lock)) remove(lock);
}

function remove(lock: string): void {
  try {
    unlinkSync(lock);
  } catch {
    // Another run was quicker.
  }
}
