// One run at a time on an output of a workspace, and on whatever lies in it: two that wrote the same file at once could seal
// what neither made. Where no lock can be made (a read-only workspace) the run goes on.
//
// Nobody waits for an output of the same name while it has others. For one that lies inside its own, or around it, a run waits
// only if it comes first in an order that all runs know, and keeps its own meanwhile; the other one lets go of all that it has.
// So no two ever wait for each other.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { isWithin, type RelPath } from '../core/path.ts';
import { identityText, isAncestor, ownIdentity } from '../hermeticity/process-identity.ts';
import type { RunContext } from './context.ts';
import {
  lockIn,
  outputToldBy,
  ownerOf,
  release,
  takeAwayIfAbandoned,
  touch,
  tryToTake,
} from './lock-file.ts';
import { keptBy, type RunRequest } from './request.ts';
import { homeIn, removeIfEmpty } from './staging.ts';

/** Runs `work` while nobody else works on the outputs; it learns whether somebody did, just before. */
export async function whileOwningOutputs<T>(
  request: RunRequest,
  { report, goOn }: Pick<RunContext, 'report' | 'goOn'>,
  work: (waited: boolean) => Promise<T>,
): Promise<T> {
  const claim = new Claim(homeIn(request.workspace), [...request.outputs, ...keptBy(request)]);
  const heart = setInterval(() => claim.beat(), RUN.lockBeatMs);
  let waited = false;
  try {
    for (let taken = claim.makeGood(); taken !== undefined; taken = claim.makeGood()) {
      if (!waited) report({ type: 'waiting', output: taken });
      waited = true;
      await wait(RUN.lockPollMs);
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

/** Those of this process, in the order in which they were made, by their locks. */
const ownClaims = new Map<string, number>();
let claimsMade = 0;

class Claim {
  readonly #home: string;
  readonly #outputs: readonly RelPath[];
  readonly #number = claimsMade++;
  readonly #locks = new Map<RelPath, string>();

  constructor(home: string, outputs: readonly RelPath[]) {
    this.#home = home;
    this.#outputs = outputs;
  }

  /** Undefined if all is this run's now; else what another one works on. To be called again until then. */
  makeGood(): RelPath | undefined {
    const held = this.#outputs.find((output) => !this.#take(output));
    if (held === undefined) return this.#nestedRival();
    this.giveUp();
    return held;
  }

  beat(): void {
    for (const lock of this.#locks.values()) touch(lock);
  }

  giveUp(): void {
    for (const lock of this.#locks.values()) {
      release(lock);
      ownClaims.delete(lock);
    }
    if (this.#locks.size > 0) removeIfEmpty(this.#home);
    this.#locks.clear();
  }

  #take(output: RelPath): boolean {
    if (this.#locks.has(output)) return true;
    const lock = lockIn(this.#home, output);
    const outcome = tryToTake(lock);
    if (outcome === 'held') {
      this.#refuseOwnAncestor(lock, output);
      takeAwayIfAbandoned(lock);
      return false;
    }
    if (outcome === 'taken') {
      this.#locks.set(output, lock);
      ownClaims.set(lock, this.#number);
    }
    return true;
  }

  #nestedRival(): RelPath | undefined {
    for (const name of this.#names()) {
      const other = outputToldBy(name);
      if (other === undefined || !this.#overlaps(other)) continue;
      const lock = join(this.#home, name);
      if (ownClaims.get(lock) === this.#number || this.#isPartOf(lock, other)) continue;
      takeAwayIfAbandoned(lock);
      if (!this.#comesBefore(lock)) this.giveUp();
      return other;
    }
    return undefined;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#home);
    } catch {
      return [];
    }
  }

  #overlaps(other: RelPath): boolean {
    return this.#outputs.some((output) => isWithin(output, other) || isWithin(other, output));
  }

  /** Who makes something inside an output as a part of the command that makes all of it is waited for, not in the way. */
  #isPartOf(lock: string, other: RelPath): boolean {
    const owner = ownerOf(lock);
    if (!owner || !isAncestor(owner)) return false;
    const around = this.#outputs.find((output) => isWithin(other, output));
    if (around !== undefined) throw withinItself(around);
    return true;
  }

  #refuseOwnAncestor(lock: string, output: RelPath): void {
    const owner = ownerOf(lock);
    if (owner && isAncestor(owner)) throw withinItself(output);
  }

  #comesBefore(lock: string): boolean {
    const number = ownClaims.get(lock);
    if (number !== undefined) return this.#number < number;
    const owner = ownerOf(lock);
    return owner === undefined || identityText(ownIdentity()) < identityText(owner);
  }
}

function withinItself(output: RelPath): AssayError {
  return new AssayError('ASSAY_RUN_WITHIN_ITSELF', `${output} is made by the run that this one is a part of`);
}
