// One run at a time on an output of a workspace: two that wrote the same file at once could seal what neither made.
//
// A lock is a symbolic link `.assay/lock-<output>` whose target names its owner: it is made and filled in one step. The
// lock of a process that has ended is taken over. Where no lock can be made (a read-only workspace) the run goes on.
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
import { join } from 'node:path';
import { digestOf } from '../core/digest.ts';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { identityText, livenessOf, ownIdentity, parseIdentity } from '../hermeticity/process-identity.ts';
import type { RunContext } from './context.ts';
import { keptBy, type RunRequest } from './request.ts';
import { homeIn, ownFolder, removeIfEmpty } from './staging.ts';

/** Runs `work` while nobody else works on the outputs; it learns whether somebody did, just before. */
export async function whileOwningOutputs<T>(
  request: RunRequest,
  { report, goOn }: Pick<RunContext, 'report' | 'goOn'>,
  work: (waited: boolean) => Promise<T>,
): Promise<T> {
  const home = homeIn(request.workspace);
  const taken: string[] = [];
  const heart = setInterval(() => beat(taken), RUN.lockBeatMs);
  let waited = false;
  try {
    // In one order for all, so that two runs never wait for each other.
    for (const output of [...request.outputs, ...keptBy(request)].sort()) {
      const lock = join(home, `lock-${digestOf(Buffer.from(output)).hash.slice(0, 32)}`);
      const outcome = await take(home, lock, {
        begins: () => report({ type: 'waiting', output }),
        goesOn: () => goOn?.(),
      });
      if (outcome !== 'impossible') taken.push(lock);
      waited ||= outcome === 'waited';
    }
    return await work(waited);
  } finally {
    clearInterval(heart);
    for (const lock of taken) release(lock);
    if (taken.length > 0) removeIfEmpty(home);
  }
}

interface Wait {
  begins(): void;
  /** Throws if it is not to go on. */
  goesOn(): void;
}

async function take(home: string, lock: string, waiting: Wait): Promise<'taken' | 'waited' | 'impossible'> {
  for (let waited = false; ; waited = true) {
    const outcome = tryToTake(home, lock);
    if (outcome === 'taken') return waited ? 'waited' : 'taken';
    if (outcome === 'impossible') return 'impossible';
    if (!waited) waiting.begins();
    await wait(RUN.lockPollMs);
    waiting.goesOn();
  }
}

/** node:timers/promises would do it, but every hit would pay for loading it. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function tryToTake(home: string, lock: string): 'taken' | 'held' | 'impossible' {
  try {
    if (!linkToOwn(home, lock)) symlinkSync(identityText(ownIdentity()), lock);
    return 'taken';
  } catch (error) {
    // Nobody has made the home yet, or another run has just removed it, because it was empty.
    if (isSystemError(error, 'ENOENT')) return canMake(home) ? tryToTake(home, lock) : 'impossible';
    if (!isSystemError(error, 'EEXIST')) return 'impossible';
  }
  if (ownerHasEnded(lock)) takeAway(lock);
  return 'held';
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

function ownerHasEnded(lock: string): boolean {
  try {
    const owner = parseIdentity(readlinkSync(lock));
    const liveness = owner ? livenessOf(owner) : 'ended';
    return liveness === 'unknown' ? !beats(lock) : liveness === 'ended';
  } catch {
    return false;
  }
}

/** An owner in another container can't be seen, but it touches its locks as long as it lives. */
function beats(lock: string): boolean {
  return Date.now() - lstatSync(lock).mtimeMs < RUN.lockStaleMs;
}

function beat(locks: readonly string[]): void {
  for (const lock of locks) touch(lock);
}

/** False if it is gone: the command may have removed it, with all of .assay. */
function touch(link: string): boolean {
  try {
    const now = Date.now() / 1000;
    lutimesSync(link, now, now);
    return true;
  } catch {
    return false;
  }
}

/** Under a lock of its own: else two runs that both saw the dead owner could take away each other's fresh lock. */
function takeAway(lock: string): void {
  const guard = `${lock}-takeover`;
  try {
    mkdirSync(guard);
  } catch {
    removeIfOld(guard);
    return;
  }
  if (ownerHasEnded(lock)) release(lock);
  rmdirSync(guard);
}

function removeIfOld(guard: string): void {
  const stats = statSync(guard, { throwIfNoEntry: false });
  if (stats && Date.now() - stats.mtimeMs > RUN.orphanEndsMs) removeIfEmpty(guard);
}

function release(lock: string): void {
  try {
    unlinkSync(lock);
  } catch {
    // The command removed it, with all of .assay.
  }
}
