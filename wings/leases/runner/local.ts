// The leases of the processes that share a local store, without a server: a symbolic link for each action that runs,
// whose target names its process. It appears in one system call together with its owner.
//
// A waiter sees at once that the holder was killed. A holder in another container, where the waiter can't see it, holds
// its lease while it touches the link. Two processes that break the link of a dead owner at once may both run: a lease
// is advice. A lease has no fence here: a process that was stopped keeps its lease, so it has no successor.
import { lstatSync, lutimesSync, readdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientFolder, makeClientFolder } from '../../../client/local-store/client-folder.ts';
import type { ReleaseReason } from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import { isSystemError } from '../../../core/errors.ts';
import {
  identityText,
  livenessOf,
  ownIdentity,
  parseIdentity,
} from '../../../system/process/process-identity.ts';
import { RUNNER } from './limits.ts';
import type { Ended, Granted, HeldByOther, HeldLease, LeasePlace, NoLease } from './place.ts';

const HOLDER = 'another run on this machine';

export class LocalLeases {
  readonly #folder: string;
  #isSwept = false;

  constructor(storeFolder: string) {
    this.#folder = join(clientFolder(storeFolder), 'leases');
  }

  /** `knownMs`: how long the action takes. */
  of(key: Hash, knownMs: number | undefined): LeasePlace {
    const link = join(this.#folder, key);
    return {
      acquire: async () => this.#acquire(link, knownMs),
      wait: (_, leftMs) => waitForEnd(link, leftMs),
    };
  }

  #acquire(link: string, knownMs: number | undefined): Granted | HeldByOther | NoLease {
    try {
      makeClientFolder(this.#folder);
      this.#sweep();
      if (take(link)) return { outcome: 'granted', grant: new LocalGrant(link) };
      return heldFor(link, knownMs);
    } catch {
      return { outcome: 'none' };
    }
  }

  /** Removes the notes about failed runs after a day. */
  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of readdirSync(this.#folder).filter((one) => one.endsWith(ENDED))) {
      const file = join(this.#folder, name);
      const stats = lstatSync(file, { throwIfNoEntry: false });
      if (stats && Date.now() - stats.mtimeMs > RUNNER.localEndsMs) rmSync(file, { force: true });
    }
  }
}

/** Beside the link: how the last run ended, if its waiters must know. */
const ENDED = '.ended';

/** Breaks the link of a process that is gone. */
function take(link: string): boolean {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      symlinkSync(identityText(ownIdentity()), link);
      rmSync(link + ENDED, { force: true });
      return true;
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
    if (ownerOf(link) !== undefined) return false;
    rmSync(link, { force: true });
  }
  return false;
}

/** The text of the living owner; undefined if there is none. */
function ownerOf(link: string): string | undefined {
  try {
    const text = readlinkSync(link);
    const owner = parseIdentity(text);
    const liveness = owner ? livenessOf(owner) : 'ended';
    if (liveness === 'running') return text;
    const silentMs = Date.now() - lstatSync(link).mtimeMs;
    return liveness === 'unknown' && silentMs < RUNNER.localStaleMs ? text : undefined;
  } catch {
    return undefined;
  }
}

function heldFor(link: string, knownMs: number | undefined): HeldByOther {
  const { birthtimeMs = Date.now() } = lstatSync(link, { throwIfNoEntry: false }) ?? {};
  // Some file systems have no time of birth.
  if (knownMs === undefined || birthtimeMs === 0) return { outcome: 'held', holder: HOLDER };
  const heldMs = Math.max(0, Date.now() - birthtimeMs);
  return { outcome: 'held', holder: HOLDER, leftMs: Math.max(0, knownMs - heldMs) };
}

async function waitForEnd(link: string, leftMs: number): Promise<HeldByOther | Ended> {
  const owner = ownerOf(link);
  const until = performance.now() + leftMs;
  while (owner !== undefined && ownerOf(link) === owner) {
    if (performance.now() >= until) return { outcome: 'held', holder: HOLDER };
    await sleep(RUNNER.localPollMs);
  }
  return endOf(link);
}

/** A run that ended well, or was killed, leaves no note: its waiters look for a result. */
function endOf(link: string): Ended {
  try {
    const detail = readlinkSync(link + ENDED);
    return detail === UNKEPT
      ? { outcome: 'ended', reason: 'unkept' }
      : { outcome: 'ended', reason: 'failed', detail };
  } catch {
    return { outcome: 'ended', reason: 'expired' };
  }
}

const UNKEPT = 'unkept';

class LocalGrant implements HeldLease {
  readonly #link: string;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(link: string) {
    this.#link = link;
    this.#timer = setInterval(() => touch(link), RUNNER.localBeatMs);
    this.#timer.unref();
  }

  /** The writes of a local lease carry no fence, so a loss changes nothing. */
  get isLost(): boolean {
    return false;
  }

  async release(reason: ReleaseReason, detail?: string): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    try {
      if (!isOwn(this.#link)) return;
      const told = reason === 'failed' ? detail || 'it failed' : UNKEPT;
      if (reason === 'failed' || reason === 'unkept') symlinkSync(told, this.#link + ENDED);
      unlinkSync(this.#link);
    } catch {
      // Another process has broken the link, or the folder is gone.
    }
  }
}

/** A container that was stopped for long may find the link of another owner, which it must not keep alive. */
function touch(link: string): void {
  try {
    const now = Date.now() / 1000;
    if (isOwn(link)) lutimesSync(link, now, now);
  } catch {
    // Another process has removed it.
  }
}

function isOwn(link: string): boolean {
  return readlinkSync(link) === identityText(ownIdentity());
}
