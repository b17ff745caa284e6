// One output's lock: a symbolic link `.assay/lock-<output>` whose target names its owner, so that it is made and filled in one
// step. The lock of a process that has ended is taken over.
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
import { digestOf } from '../core/digest.ts';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import type { RelPath } from '../core/path.ts';
import {
  identityText,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../hermeticity/process-identity.ts';
import { ownFolder, removeIfEmpty } from './staging.ts';

const NAMED = 'lock-';
const SHORTENED = 'locked-';
/** File systems take 255 bytes, and who takes a lock away puts a word before it. */
const LONGEST_NAME = 200;
const SLASH = encodeURIComponent('/');

/** It tells the output, or how it begins where that is too long for a name. */
export function lockIn(home: string, output: RelPath): string {
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
export function outputToldBy(name: string): string {
  try {
    return decodeURIComponent(name.slice(NAMED.length));
  } catch {
    return name;
  }
}

export function tryToTake(lock: string): 'taken' | 'held' | 'impossible' {
  const home = dirname(lock);
  try {
    if (lstatSync(home).isSymbolicLink()) return 'impossible';
    if (!linkToOwn(home, lock)) symlinkSync(identityText(ownIdentity()), lock);
    return 'taken';
  } catch (error) {
    // Nobody has made the home yet, or another run has just removed it, because it was empty.
    if (isSystemError(error, 'ENOENT')) return canMake(home) ? tryToTake(lock) : 'impossible';
    return isSystemError(error, 'EEXIST') && isLock(lock) ? 'held' : 'impossible';
  }
}

/** Touched before it is a lock: who can't see this process goes by that. */
function linkToOwn(home: string, lock: string): boolean {
  const folder = ownFolder(home);
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

function canMake(home: string): boolean {
  try {
    mkdirSync(home, { recursive: true });
    return true;
  } catch {
    return false;
  }
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

/** An owner in another container can't be seen, but it touches its locks as long as it lives. */
function isAbandoned(lock: string): boolean {
  try {
    const owner = parseIdentity(readlinkSync(lock));
    const liveness = owner ? livenessOf(owner) : 'ended';
    return liveness === 'unknown' ? !beats(lock) : liveness === 'ended';
  } catch {
    return false;
  }
}

function beats(lock: string): boolean {
  return Date.now() - lstatSync(lock).mtimeMs < RUN.lockStaleMs;
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
export function takeAwayIfAbandoned(lock: string): void {
  if (!isAbandoned(lock)) return;
  const guard = join(dirname(lock), `takeover-${basename(lock)}`);
  try {
    mkdirSync(guard);
  } catch {
    removeIfOld(guard);
    return;
  }
  if (isAbandoned(lock)) remove(lock);
  rmdirSync(guard);
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
export function release(lock: string): void {
  const owner = ownerOf(lock);
  if (owner && identityText(owner) === identityText(ownIdentity())) remove(lock);
}

function remove(lock: string): void {
  try {
    unlinkSync(lock);
  } catch {
    // Another run was quicker.
  }
}
