// One run at a time on an output of a workspace, and on whatever lies in it: two that wrote the same file at once could seal
// what neither made. Where no lock can be made (a read-only workspace) the run goes on.
//
// Who waits has nothing: a run takes all of its outputs in one go or none, so no two ever wait for each other, whatever their
// commands run in turn.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { isWithin, type RelPath } from '../core/path.ts';
import { isAncestor } from '../hermeticity/process-identity.ts';
import type { RunContext } from './context.ts';
import {
  isLock,
  lockIn,
  outputToldBy,
  overlaps,
  ownerOf,
  release,
  takeAwayIfAbandoned,
  touch,
  tryToTake,
} from './lock-file.ts';
import { keptBy, type RunRequest } from './request.ts';
import { homeIn, outputsAround, removeIfEmpty } from './staging.ts';

/** Runs `work` while nobody else works on the outputs; it learns whether somebody did, just before. */
export async function whileOwningOutputs<T>(
  request: RunRequest,
  { report, goOn }: Pick<RunContext, 'report' | 'goOn'>,
  work: (waited: boolean) => Promise<T>,
): Promise<T> {
  const claim = new Claim(request.workspace, [...request.outputs, ...keptBy(request)]);
  const heart = setInterval(() => claim.beat(), RUN.lockBeatMs);
  let waited = false;
  try {
    for (let rival = claim.takeAll(); rival !== undefined; rival = claim.takeAll()) {
      if (!waited) report({ type: 'waiting', output: rival });
      waited = true;
      await wait(RUN.lockPollMs * (0.5 + Math.random()));
      goOn?.();
    }
    return await work(waited);
  } finally {
    clearInterval(heart);
    claim.giveUp();
  }
}

/** node:timers/promises would do it, but every hit would pay for loading it. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Of this process, by their locks. */
const holders = new Map<string, Claim>();

class Claim {
  readonly #workspace: string;
  readonly #home: string;
  readonly #outputs: readonly RelPath[];
  readonly #locks = new Set<string>();

  constructor(workspace: string, outputs: readonly RelPath[]) {
    this.#workspace = workspace;
    this.#home = homeIn(workspace);
    this.#outputs = outputs;
  }

  /** Undefined if all is this run's now; else what another one works on, and nothing is. */
  takeAll(): string | undefined {
    const rival = this.#outputs.find((output) => !this.#take(output)) ?? this.#rivalInsideOrAround();
    if (rival !== undefined) this.giveUp();
    return rival;
  }

  beat(): void {
    for (const lock of this.#locks) touch(lock);
  }

  giveUp(): void {
    for (const lock of this.#locks) {
      if (holders.get(lock) !== this) continue;
      release(lock);
      holders.delete(lock);
    }
    if (this.#locks.size > 0) removeIfEmpty(this.#home);
    this.#locks.clear();
  }

  #take(output: RelPath): boolean {
    const lock = lockIn(this.#home, output);
    if (this.#locks.has(lock)) return true;
    const outcome = tryToTake(lock);
    if (outcome === 'held') {
      this.#refuseIfPartOfItself(lock);
      takeAwayIfAbandoned(lock);
      return false;
    }
    if (outcome === 'taken') {
      this.#locks.add(lock);
      holders.set(lock, this);
    }
    return true;
  }

  #rivalInsideOrAround(): string | undefined {
    const others = this.#locksThere().filter((name) =>
      this.#outputs.some((output) => overlaps(name, output)),
    );
    for (const name of others) {
      const lock = join(this.#home, name);
      if (this.#locks.has(lock) || !isLock(lock) || this.#refuseIfPartOfItself(lock)) continue;
      takeAwayIfAbandoned(lock);
      return outputToldBy(name);
    }
    return undefined;
  }

  #locksThere(): string[] {
    try {
      return this.#locks.size > 0 ? readdirSync(this.#home) : [];
    } catch {
      return [];
    }
  }

  /**
   * True if this run is a part of the command that makes what is locked, and makes a part of it. If it is to make all of it,
   * it would wait for the command, which waits for this run.
   */
  #refuseIfPartOfItself(lock: string): boolean {
    const owner = ownerOf(lock);
    if (!owner || !isAncestor(owner)) return false;
    const around = outputsAround(this.#workspace, owner);
    const locked = around.find((one) => lockIn(this.#home, one) === lock);
    if (locked === undefined) return false;
    const itself = this.#outputs.find((output) => isWithin(locked, output));
    if (itself !== undefined) throw withinItself(itself);
    return true;
  }
}

function withinItself(output: RelPath): AssayError {
  return new AssayError('ASSAY_RUN_WITHIN_ITSELF', `${output} is made by the run that this one is a part of`);
}
