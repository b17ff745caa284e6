// The resources that all executed steps of a graph share: the caches, scratch folders, and one staging folder that stays
// between steps.

import type { Step } from '../config/step.ts';
import { SharedJobs } from '../jobs/shared-jobs.ts';
import { Staging } from '../outputs/staging.ts';
import { SystemFileMemo } from '../path-sets/system-file-memo.ts';
import { ScratchPool } from '../process/scratch-pool.ts';
import { type Cache, type CacheOptions, openCache } from '../run/caches.ts';
import { warningText } from '../run/reporter.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { RecordedResult } from '../up-to-date/state-recorder.ts';
import type { Emit, StepEnd } from '../view/events.ts';
import type { UploadOutcome } from '../view/run-totals.ts';
import { executeStep, type SlotContext } from './execute-step.ts';
import { MadeSteps } from './made-steps.ts';
import type { StepContext } from './run-step.ts';

export interface StepRunner {
  readonly cache: Cache;
  /** `known`: the result, if only its outputs are not in place. */
  run(step: Step, context: SlotContext, known?: RecordedResult): Promise<StepEnd>;
  /** Records the executed steps that are in place now. Call it after the last command. */
  recordMade(began: number, context: StepContext): Promise<void>;
  /** Waits for the uploads, for a bounded time. `hits`: the keys of the steps that were up to date. */
  finishUploads(
    began: number,
    emit: Emit,
    stop: Promise<void>,
    hits: readonly string[],
  ): Promise<UploadOutcome>;
  close(): Promise<void>;
}

export interface StepRunnerOptions extends Omit<CacheOptions, 'skipsScanMemo' | 'systemFiles'> {
  /** How many job slots this run shares with all others of the user; absent for none (SharedJobs). */
  readonly jobs?: number | undefined;
}

export function openStepRunner({ jobs: count, ...options }: StepRunnerOptions): StepRunner {
  const cache = openCache({ ...options, skipsScanMemo: true, systemFiles: new SystemFileMemo(options.now) });
  const staging = new HeldStaging(options.workspace);
  const reported = new Set<RunEvent['type']>();
  const isFirst = ({ type }: RunEvent) => reported.size < reported.add(type).size;
  const madeSteps = new MadeSteps();
  const scratch = new ScratchPool();
  const jobs = count === undefined ? undefined : new SharedJobs({ ...options, jobs: count });
  const wrote = () => {
    staging.hold();
    cache.tools.forgetInside();
  };
  return {
    cache,
    run: (step, context, known) =>
      executeStep(step, { ...context, cache, wrote, madeSteps, scratch, jobs, isFirst }, known),
    recordMade: (began, context) => madeSteps.record(cache, context, began),
    async finishUploads(began, emit, stop, hits) {
      const settled = await cache.finishUploads(began, {
        stop,
        hits,
        sending: (results) => emit({ type: 'run-sending', results }),
      });
      const { unshared: results, why } = settled;
      if (results > 0) emit({ type: 'run-warning', text: warningText({ type: 'unshared', results, why }) });
      return settled;
    },
    close() {
      staging.release();
      scratch.close();
      jobs?.close();
      return cache.close();
    },
  };
}

/**
 * Created after the first write: a run without writes leaves the workspace untouched.
 * If it cannot be created, each step reports that itself.
 */
class HeldStaging {
  readonly #workspace: string;
  #held: Staging | undefined;
  #isTried = false;

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  hold(): void {
    if (this.#isTried) return;
    this.#isTried = true;
    try {
      this.#held = Staging.create(this.#workspace);
    } catch {
      // The workspace is read-only.
    }
  }

  release(): void {
    this.#held?.remove();
  }
}
