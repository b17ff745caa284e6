// The steps whose outputs this run wrote: their commands ran, or their results were restored. After the last command
// each is checked once more, as the next run would check it. A step that passes is recorded, so the next run finds it
// up to date and makes no key.
//
// Nothing that was seen earlier counts: other steps, or a person, may have changed files since. A step that was looked
// up or executed is checked by its key, its facts and the content of its outputs. A step that was restored from the
// state has only other outputs than the state, so only their content is compared.
// The stats that are recorded are taken here, when they are settled (files/settled.ts). The time for it is bounded, and
// a short run does not wait for young files; a step that is left over is checked by the next run.
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Hash } from '../../core/digest.ts';
import { resultKey } from '../../core/path-set.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { IdentifiedAction, KeyedAction } from '../inputs/keyed-action.ts';
import { GRAPH, INDEX } from '../limits.ts';
import { isCiJob } from '../local-store/outbox.ts';
import type { Output } from '../outputs/outputs.ts';
import { States } from '../path-sets/states.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { Hit } from '../run/hit.ts';
import { keyAction } from '../run/key.ts';
import { isInPlace } from '../run/restore-hit.ts';
import type { StepContext } from './run-step.ts';

interface MadeStep {
  readonly step: Step;
  readonly action: IdentifiedAction;
  readonly hit: Hit;
  readonly madeAt: number;
  readonly how: Made;
}

/** "known": restored by the recorded state, without a lookup. */
type Made = 'executed' | 'restored' | 'known';

type CheckContext = Pick<StepContext, 'workspace' | 'caller' | 'recorder' | 'now'>;

export class MadeSteps {
  readonly #steps: MadeStep[] = [];

  /** A CI job that restores has no next run here. */
  add(step: Step, { key, request }: IdentifiedAction, hit: Hit, how: Made, madeAt: number): void {
    if (hit.exitCode !== 0) return;
    if (how !== 'executed' && (isCiJob() || bytesOf(hit.outputs) > GRAPH.recordBytes)) return;
    this.#steps.push({ step, action: { key, request }, hit, how, madeAt });
  }

  /** Call it after the last command. `began`: the start of the run. */
  async record(cache: Cache, context: CheckContext, began: number): Promise<void> {
    const { now } = context;
    const end = now();
    const share = (end - began) * GRAPH.recordShare;
    for (const made of this.#steps.splice(0)) {
      // An upload goes on meanwhile.
      await setImmediate();
      const isExecuted = made.how === 'executed';
      const until = end + Math.max(isExecuted ? GRAPH.recordMs : GRAPH.recordRestoredMs, share);
      const youngMs = Math.max(0, INDEX.granularityMs + 1 - (now() - made.madeAt));
      const waits = isExecuted ? end - began >= GRAPH.recordMs : youngMs <= share;
      if (now() > until || (youngMs > 0 && !waits)) return;
      if (youngMs > 0) await setTimeout(youngMs);
      const check = made.how === 'known' ? confirmIfInPlace : recordIfInPlace;
      check(made, cache, context);
    }
  }
}

/** An error means that the step is not in place. */
function recordIfInPlace(
  { step, action: { key }, hit }: MadeStep,
  cache: Cache,
  { workspace, caller, recorder, now }: CheckContext,
): void {
  try {
    const began = now();
    const request = requestOf(step, workspace, caller, cache.tools);
    const own: RunContext = { ...SILENT, cache, caller, now };
    const action = keyAction(request, own);
    if (action.key.hash !== key.hash || addressNow(action, hit, cache) !== hit.address) return;
    if (isInPlace(hit, action, own)) recorder.record(step, action, cache, began);
  } catch {
    // An input or a tool is gone.
  }
}

function confirmIfInPlace(
  { step, action, hit }: MadeStep,
  cache: Cache,
  { caller, recorder, now }: CheckContext,
): void {
  const check = isInPlace(hit, action, { ...SILENT, cache, caller, now }) && cache.inPlace.of(action);
  if (check) recorder.confirmed(step, check);
}

/** Where a lookup would find the result now: the facts of its path set are compared again. */
function addressNow(action: KeyedAction, { set }: Hit, { digests, systemFiles }: Cache): Hash {
  if (!set) return action.key.hash;
  return resultKey(action.key.hash, set, new States(action, digests, systemFiles).of).hash;
}

/** The run reported everything about the step when it ran. */
const SILENT = { stdout: { write() {} }, stderr: { write() {} }, report() {} } as const;

function bytesOf(outputs: readonly Output[]): number {
  const entries = outputs.flatMap((output) => (output.kind === 'directory' ? output.entries : [output]));
  return entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.digest.size : 0), 0);
}
