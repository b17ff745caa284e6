// Output locks: one run at a time works on an output of a workspace, and on everything inside or around it.
// Two runs that wrote the same file at once could publish a result that neither of them made.
//
//   O1  Two runs never work on overlapping outputs at the same time: paths of which one contains the other.
//       The exception is a lock that was broken because its owner seemed dead: then neither run publishes.
//   O2  A run holds no lock while it waits: it takes all of its locks or none. So there is no deadlock.
//   O3  A run publishes only if it held all its locks all the time.
//   O4  A run that lost a lock restores nothing more.
//   O5  A command that runs Assay may make a part of its own output. To make all of it is refused: the
//       inner run would wait for the command, which waits for the inner run.
//   O6  If no lock can be made (a read-only workspace), the run goes on and publishes nothing.
//
//              all locks taken                    publishRefusal() is undefined
//   waiting ────────────────────> working ──────────────────────────────────────> published
//      ^   conflict: release all     │ lock removed or taken over (O3, O4)
//      └───────────────              └──────────────────────────────────────────> not published
//
// A run states its outputs twice: as locks in the workspace, which other containers and users see
// (lock-file.ts), and as records of the user (run-records.ts), which `git clean` does not remove.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath } from '../../core/path.ts';
import { isAncestor, type ProcessIdentity } from '../../system/process/process-identity.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { RUN } from '../limits.ts';
import type { Report } from '../terminal/events.ts';
import {
  breakIfAbandoned,
  isHeldHere,
  isLock,
  LockAges,
  lockPath,
  outputOfLock,
  overlaps,
  ownerOf,
  removeOwn,
  touch,
  tryLock,
} from './lock-file.ts';
import {
  canSeeKilledRuns,
  cleanUpKilledRuns,
  liveRecordsIn,
  type OwnRecord,
  outputsOfEnclosing,
  recordRun,
} from './run-records.ts';
import { assayFolder, removeIfEmpty } from './staging.ts';

export interface Ownership {
  /** Why a lock is lost; undefined while all are held. */
  lost(): string | undefined;
  /**
   * Why the result must not be published: another run may have written the outputs. Undefined if none can
   * have.
   */
  publishRefusal(): string | undefined;
}

interface WaitingRun {
  readonly report: Report;
  /** Throws if the run was cancelled. */
  throwIfCancelled?(): void;
}

/** Calls `work` while this run holds the locks. `waited`: another run held one of them just before. */
export async function withOutputLocks<T>(
  request: RunRequest,
  { report, throwIfCancelled }: WaitingRun,
  work: (waited: boolean, ownership: Ownership) => Promise<T>,
): Promise<T> {
  const locks = new OutputLocks(request.workspace, [...request.outputs, ...stateAndCheckpointPaths(request)]);
  const timer = setInterval(() => locks.refresh(), RUN.lockBeatMs);
  let waited = false;
  try {
    for (let conflict = locks.tryLockAll(); conflict !== undefined; conflict = locks.tryLockAll()) {
      if (!waited) report({ type: 'waiting', output: conflict });
      waited = true;
      await wait(RUN.lockPollMs * (0.5 + Math.random()));
      throwIfCancelled?.();
    }
    return await work(waited, locks);
  } finally {
    clearInterval(timer);
    locks.release();
  }
}

/** Not node:timers/promises: every hit would pay for loading it. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The locks that this process holds, by path. */
const holders = new Map<string, OutputLocks>();

class OutputLocks implements Ownership {
  readonly #workspace: string;
  readonly #home: string;
  readonly #outputs: readonly RelPath[];
  readonly #locks = new Set<string>();
  readonly #ages = new LockAges();
  #record: OwnRecord | undefined;
  /** Why no lock could be made (O6). */
  #impossible: string | undefined;
  #tookOver = false;

  constructor(workspace: string, outputs: readonly RelPath[]) {
    this.#workspace = workspace;
    this.#home = assayFolder(workspace);
    this.#outputs = outputs;
  }

  /**
   * Undefined if this run holds all locks now; else the output that another run works on, and no lock is held
   * (O2).
   */
  tryLockAll(): string | undefined {
    const conflict = this.#outputs.find((output) => !this.#take(output)) ?? this.#overlappingLock();
    if (conflict !== undefined) this.release();
    return conflict;
  }

  refresh(): void {
    for (const lock of this.#locks) if (isHeldHere(lock)) touch(lock);
  }

  /**
   * By F2, a lock that still names this process was never broken, even if the process was stopped for an
   * hour.
   */
  lost(): string | undefined {
    for (const lock of this.#locks) {
      if (isHeldHere(lock)) continue;
      return ownerOf(lock)
        ? `another run took over its outputs while it ran (${lock})`
        : `its lock was removed while it ran, so another run may have changed its outputs (\`git clean -fdx -e .assay\` spares it)`;
    }
    return undefined;
  }

  publishRefusal(): string | undefined {
    if (this.#impossible !== undefined) return `its outputs could not be locked: ${this.#impossible}`;
    if (this.#tookOver)
      return 'the run that had locked its outputs stopped renewing its lock, but may still write them; run it again';
    return this.lost();
  }

  release(): void {
    this.#record?.remove();
    this.#record = undefined;
    for (const lock of this.#locks) {
      if (holders.get(lock) !== this) continue;
      removeOwn(lock);
      holders.delete(lock);
    }
    if (this.#locks.size > 0) removeIfEmpty(this.#home);
    this.#locks.clear();
  }

  #take(output: RelPath): boolean {
    const path = lockPath(this.#home, output);
    if (this.#locks.has(path)) return true;
    if (holders.has(path)) return false;
    const outcome = tryLock(path);
    if (outcome === 'held') {
      this.#isNestedIn(path);
      return this.#takeOver(path) && this.#take(output);
    }
    if (outcome === 'taken') {
      this.#locks.add(path);
      holders.set(path, this);
    } else this.#impossible = outcome.impossible;
    return true;
  }

  /**
   * Breaks an abandoned lock and ends the command of its killed owner. If that cannot be ruled out, it may
   * still run.
   */
  #takeOver(path: string): boolean {
    const abandoned = breakIfAbandoned(path, this.#ages);
    if (abandoned === undefined) return false;
    cleanUpKilledRuns(this.#workspace);
    if (abandoned !== 'certain' || !canSeeKilledRuns()) this.#tookOver = true;
    return true;
  }

  #overlappingLock(): string | undefined {
    const others = this.#lockNames().filter((name) => this.#outputs.some((output) => overlaps(name, output)));
    for (const name of others) {
      const path = join(this.#home, name);
      if (this.#locks.has(path) || !isLock(path) || this.#isNestedIn(path)) continue;
      if (!this.#takeOver(path)) return outputOfLock(name);
    }
    return this.#overlappingRecord();
  }

  #lockNames(): string[] {
    try {
      return this.#locks.size > 0 ? readdirSync(this.#home) : [];
    } catch {
      return [];
    }
  }

  /** Finds a running run of this user whose locks were removed. Writes the own record first (R2). */
  #overlappingRecord(): string | undefined {
    if (this.#outputs.length === 0) return undefined;
    this.#record ??= recordRun({ workspace: this.#workspace, outputs: this.#outputs });
    for (const { owner, outputs } of liveRecordsIn(this.#workspace)) {
      const conflict = outputs.find(
        (theirs) =>
          this.#outputs.some((own) => isWithin(theirs, own) || isWithin(own, theirs)) &&
          !this.#isPartOfCommand(owner, theirs),
      );
      if (conflict !== undefined) return conflict;
    }
    return undefined;
  }

  /** Whether the lock belongs to the command that this run is a part of (O5). */
  #isNestedIn(path: string): boolean {
    const owner = ownerOf(path);
    if (!owner || !isAncestor(owner)) return false;
    const locked = outputsOfEnclosing(this.#workspace, owner).find(
      (one) => lockPath(this.#home, one) === path,
    );
    return locked !== undefined && this.#isPartOfCommand(owner, locked);
  }

  /**
   * True if a process of the command that makes `locked` started this run. Throws if this run makes all of it
   * (O5).
   */
  #isPartOfCommand(owner: ProcessIdentity, locked: RelPath): boolean {
    if (!isAncestor(owner) || !outputsOfEnclosing(this.#workspace, owner).includes(locked)) return false;
    const itself = this.#outputs.find((output) => isWithin(locked, output));
    if (itself !== undefined) throw runWithinItself(itself);
    return true;
  }
}

function runWithinItself(output: RelPath): AssayError {
  return new AssayError('ASSAY_RUN_WITHIN_ITSELF', `${output} is made by the run that this one is a part of`);
}
