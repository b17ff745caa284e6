// The steps whose commands this run executed. After the last command each is checked once more, as the next
// run would check it: its key, its facts and the content of its outputs. A step that passes is recorded, so
// the next run finds it up to date and makes no key.
//
// Nothing that the step saw earlier counts: other steps, or a person, may have changed files since. The stats
// that are recorded are taken here, when they are settled (files/settled.ts). The time for it is bounded, and a
// short run does not wait for young files; a step that is left over is checked by the next run.
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Hash } from '../../core/digest.ts';
import { resultKey } from '../../core/path-set.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { GRAPH, INDEX } from '../limits.ts';
import { States } from '../path-sets/states.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { Hit } from '../run/hit.ts';
import { type KeyedAction, keyOf } from '../run/key.ts';
import { isInPlace } from '../run/restore-hit.ts';
import type { StepContext } from './run-step.ts';

interface MadeStep {
  readonly step: Step;
  readonly key: Hash;
  readonly hit: Hit;
  readonly madeAt: number;
}

type CheckContext = Pick<StepContext, 'workspace' | 'caller' | 'recorder' | 'now'>;

export class MadeSteps {
  readonly #steps: MadeStep[] = [];

  add(step: Step, { key }: KeyedAction, hit: Hit, madeAt: number): void {
    if (hit.exitCode === 0) this.#steps.push({ step, key: key.hash, hit, madeAt });
  }

  /** Call it after the last command. `began`: the start of the run. */
  async record(cache: Cache, context: CheckContext, began: number): Promise<void> {
    const { now } = context;
    const ranMs = now() - began;
    const until = now() + Math.max(GRAPH.recordMs, ranMs * GRAPH.recordShare);
    const waits = ranMs >= GRAPH.recordMs;
    for (const made of this.#steps.splice(0)) {
      // An upload goes on meanwhile.
      await setImmediate();
      const youngMs = INDEX.granularityMs + 1 - (now() - made.madeAt);
      if (now() > until || (youngMs > 0 && !waits)) return;
      if (youngMs > 0) await setTimeout(youngMs);
      recordIfInPlace(made, cache, context);
    }
  }
}

/** An error means that the step is not in place. */
function recordIfInPlace(
  { step, key, hit }: MadeStep,
  cache: Cache,
  { workspace, caller, recorder, now }: CheckContext,
): void {
  try {
    const began = now();
    const request = requestOf(step, workspace, caller, cache.tools);
    const own: RunContext = { ...SILENT, cache, caller, now };
    const action = keyOf(request, own);
    if (action.key.hash !== key || addressNow(action, hit, cache) !== hit.address) return;
    if (isInPlace(hit, action, own)) recorder.record(step, action, cache, began);
  } catch {
    // An input or a tool is gone.
  }
}

/** Where a lookup would find the result now: the facts of its path set are compared again. */
function addressNow(action: KeyedAction, { set }: Hit, { digests, systemFiles }: Cache): Hash {
  if (!set) return action.key.hash;
  return resultKey(action.key.hash, set, new States(action, digests, systemFiles).of).hash;
}

/** What there is to say about the step was said when it ran. */
const SILENT = { stdout: { write() {} }, stderr: { write() {} }, report() {} } as const;
