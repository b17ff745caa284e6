// An exclusive lock between processes, as a file beside what it protects.
//
// Guarantees:
// L1. At most one live process holds the lock.
// L2. A process that dies does not keep it: the next one removes its lock.
// L3. Removing a dead process's lock never removes a living one's.
//
// Node has no flock(2). A lock file appears with its content in one step, by link(2). For L3, the process
// that removes the lock of a dead holder first takes another lock, named after that holder. Names are never
// used twice, so whoever has that lock and still sees the dead holder is the only one who removes it.
//
// A holder in another PID namespace or on another machine cannot be seen. It counts as dead when its lock is
// older than `abandonedMs`. `check` tells a holder that was stopped for so long.
import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isSystemError } from '../../core/errors.ts';
import { FILE_LOCK } from '../limits.ts';
import { bootId } from '../process/boot-id.ts';
import {
  identityText,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../process/process-identity.ts';

interface LockTimes {
  /** How long to wait for a live holder. */
  readonly waitMs: number;
  /** The age at which the lock of a holder that cannot be seen counts as abandoned. */
  readonly abandonedMs: number;
}

/** A live process holds the lock, or took it over. */
export class LockBusy extends Error {}

interface HeldLock {
  /** Throws LockBusy if another process took the lock over. */
  check(): void;
}

export async function withFileLock<T>(
  path: string,
  work: (lock: HeldLock) => T | Promise<T>,
  times: LockTimes = FILE_LOCK,
): Promise<T> {
  const holder = await acquire(path, times);
  try {
    removeLeftovers(path, times);
    return await work({
      check() {
        if (holderOf(path)?.id !== holder.id) throw busy(path, 'another process took the lock over');
      },
    });
  } finally {
    release(path, holder);
  }
}

interface Holder {
  readonly id: string;
  /** Empty if unknown. Another boot, and another machine, have another one. */
  readonly boot: string;
  /** Undefined if the lock does not tell it. */
  readonly process: ProcessIdentity | undefined;
}

async function acquire(path: string, times: LockTimes): Promise<Holder> {
  const own: Holder = { id: randomUUID(), boot: bootId(), process: ownIdentity() };
  const deadline = performance.now() + times.waitMs;
  while (true) {
    const found = tryToCreate(path, own, times);
    if (found === 'created') return own;
    if (found === 'gone') continue;
    if (found.isDead) await removeDead(path, found.holder, times);
    else if (performance.now() > deadline)
      throw busy(path, `process ${found.holder.process?.pid ?? '?'} holds it`);
    else await pause(FILE_LOCK.pollMs);
  }
}

function tryToCreate(
  path: string,
  own: Holder,
  { abandonedMs }: LockTimes,
): 'created' | 'gone' | { holder: Holder; isDead: boolean } {
  const claim = `${path}.${own.id}.claim`;
  writeFileSync(claim, textOf(own), { flag: 'wx', mode: 0o600 });
  try {
    linkSync(claim, path);
    return 'created';
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
    const holder = holderOf(path);
    const lock = statSync(path, { throwIfNoEntry: false });
    if (!holder || !lock) return 'gone';
    // Both times come from the clock of the same file system.
    const ageMs = statSync(claim).mtimeMs - lock.mtimeMs;
    return { holder, isDead: hasEnded(holder) || ageMs > abandonedMs };
  } finally {
    rmSync(claim, { force: true });
  }
}

/** L3: whoever holds `breaker` and still finds the dead holder is the only one who removes its lock. */
async function removeDead(path: string, dead: Holder, times: LockTimes): Promise<void> {
  const breaker = `${path}.${dead.id}`;
  const own = await acquire(breaker, times);
  try {
    if (holderOf(path)?.id === dead.id) rmSync(path, { force: true });
  } finally {
    release(breaker, own);
  }
}

/**
 * Files that dead processes left beside the lock. The caller holds the lock, so no dead process does, and a
 * lock that is named after one protects nothing.
 */
function removeLeftovers(path: string, { abandonedMs }: LockTimes): void {
  for (const name of readdirSync(dirname(path)).filter((one) => one.startsWith(`${basename(path)}.`))) {
    const file = join(dirname(path), name);
    const holder = holderOf(file);
    // A process that was killed before it wrote its claim left an empty one, which does not name it.
    const isOld = () => statSync(path).mtimeMs - (statSync(file, THERE)?.mtimeMs ?? 0) > abandonedMs;
    if (holder && (hasEnded(holder) || (holder.id === UNKNOWN && isOld()))) rmSync(file, { force: true });
  }
}

const THERE = { throwIfNoEntry: false } as const;

function release(path: string, own: Holder): void {
  if (holderOf(path)?.id === own.id) rmSync(path, { force: true });
}

const UNKNOWN = 'unknown';

function textOf({ id, boot, process }: Holder): string {
  return JSON.stringify({ id, boot, process: process && identityText(process) });
}

/** Undefined if there is no lock. A file that no lock of ours can be has a holder that nobody can see. */
function holderOf(path: string): Holder | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const unknown: Holder = { id: UNKNOWN, boot: '', process: undefined };
  try {
    const { id, boot, process }: Record<string, unknown> = Object(JSON.parse(text));
    const isHolder = typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id);
    return isHolder ? { id, boot: String(boot), process: parseIdentity(String(process)) } : unknown;
  } catch {
    return unknown;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** True only if the process would be visible here, and is not there. */
function hasEnded({ boot, process }: Holder): boolean {
  return boot !== '' && boot === bootId() && process !== undefined && livenessOf(process) === 'ended';
}

function busy(path: string, why: string): LockBusy {
  return new LockBusy(`${path}: ${why}`);
}
