// One run at a time on an output of a workspace, and on whatever lies in it: two that wrote the same file at once could seal
// what neither made. What a run makes may be published only while it owns its outputs and has owned them all the time.
//
// A run says what it works on in two places: locks in the workspace, which other containers and users see, and the user's own
// records (run-records.ts), which nobody removes with `git clean`. Where no lock can be made (a read-only workspace) the run goes on,
// and nothing of it is published.
//
// A run holds nothing while it waits: it takes all of its outputs in one go or none, so no two ever wait for each other, whatever
// their commands run in turn.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath } from '../../core/path.ts';
import { isAncestor, type ProcessIdentity } from '../../hermeticity/system/process-identity.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { RUN } from '../limits.ts';
import type { RunContext } from '../run/context.ts';
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
  /** Why the outputs are no longer this run's; undefined as long as they are. */
  lost(): string | undefined;
  /** Why what lies there may be another run's, so that it must not be published; undefined if it can't. */
  publishRefusal(): string | undefined;
}

/** Runs `work` while nobody else works on the outputs; it learns whether somebody did, just before. */
export async function withOutputLocks<T>(
  request: RunRequest,
  { report, throwIfCancelled }: Pick<RunContext, 'report' | 'throwIfCancelled'>,
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

/** node:timers/promises would do it, but every hit would pay for loading it. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Of this process, by the paths of their locks. */
const holders = new Map<string, OutputLocks>();

class OutputLocks implements Ownership {
  readonly #workspace: string;
  readonly #home: string;
  readonly #outputs: readonly RelPath[];
  readonly #locks = new Set<string>();
  readonly #ages = new LockAges();
  #record: OwnRecord | undefined;
  /** Why there are no locks. */
  #impossible: string | undefined;
  #tookOver = false;

  constructor(workspace: string, outputs: readonly RelPath[]) {
    this.#workspace = workspace;
    this.#home = assayFolder(workspace);
    this.#outputs = outputs;
  }

  /** Undefined if all is this run's now; else what another one works on, and nothing is. */
  tryLockAll(): string | undefined {
    const conflict = this.#outputs.find((output) => !this.#take(output)) ?? this.#overlappingLock();
    if (conflict !== undefined) this.release();
    return conflict;
  }

  refresh(): void {
    for (const lock of this.#locks) if (isHeldHere(lock)) touch(lock);
  }

  /**
   * Whoever takes over a lock removes it first, and nobody makes one in another's name: as long as it is there, nobody has, even if
   * this process stood still for an hour.
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
      return 'the run that had locked its outputs was not heard of any more, but may still write them; run it again';
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

  /** A command that the killed owner left running is ended; where nobody can know of one, it may still run. */
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

  /** A run of this user whose locks somebody has removed still works. First the own record: of two runs at least one sees the other's. */
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

  /** The same for an output that is known by its lock. */
  #isNestedIn(path: string): boolean {
    const owner = ownerOf(path);
    if (!owner || !isAncestor(owner)) return false;
    const locked = outputsOfEnclosing(this.#workspace, owner).find(
      (one) => lockPath(this.#home, one) === path,
    );
    return locked !== undefined && this.#isPartOfCommand(owner, locked);
  }

  /**
   * True if this run is a part of the command that makes what is locked, and makes a part of it. If it is to make all of it,
   * it would wait for the command, which waits for this run.
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
