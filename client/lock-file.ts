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
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { digestOf } from '../core/digest.ts';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { parseRelPath, type RelPath } from '../core/path.ts';
import {
  identityText,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../hermeticity/process-identity.ts';
import { ownFolder, removeIfEmpty } from './staging.ts';

const NAMED = 'lock-';
const DIGESTED = 'locked-';
/** File systems take 255 bytes, and who takes a lock away puts a word before it. */
const LONGEST_NAME = 200;

/** It tells the output, unless that is too long for a name or can't be written in one. */
export function lockIn(home: string, output: RelPath): string {
  const named = output.isWellFormed() ? `${NAMED}${encodeURIComponent(output)}` : undefined;
  const isFit = named !== undefined && named.length <= LONGEST_NAME;
  return join(home, isFit ? named : `${DIGESTED}${digestOf(Buffer.from(output)).hash}`);
}

/** Undefined where the name of a file is not a lock's, or does not tell. */
export function outputToldBy(name: string): RelPath | undefined {
  try {
    return name.startsWith(NAMED) ? parseRelPath(decodeURIComponent(name.slice(NAMED.length))) : undefined;
  } catch {
    return undefined;
  }
}

export function tryToTake(lock: string): 'taken' | 'held' | 'impossible' {
  const home = dirname(lock);
  try {
    if (!linkToOwn(home, lock)) symlinkSync(identityText(ownIdentity()), lock);
    return 'taken';
  } catch (error) {
    // Nobody has made the home yet, or another run has just removed it, because it was empty.
    if (isSystemError(error, 'ENOENT')) return canMake(home) ? tryToTake(lock) : 'impossible';
    return isSystemError(error, 'EEXIST') ? 'held' : 'impossible';
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
  if (isAbandoned(lock)) release(lock);
  rmdirSync(guard);
}

function removeIfOld(guard: string): void {
  const stats = statSync(guard, { throwIfNoEntry: false });
  if (stats && Date.now() - stats.mtimeMs > RUN.orphanEndsMs) removeIfEmpty(guard);
}

export function release(lock: string): void {
  try {
    unlinkSync(lock);
  } catch {
    // The command removed it, with all of .assay.
  }
}
