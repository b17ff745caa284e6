// --dry-run: each step's key, whether and where a result exists, and the reason if none does. No command runs
// and no output is written. A remote is asked as in a run; its results go into the local store. A step has no
// key yet if a step before it would run or be restored, because its inputs are not final.

import { messageOf } from '../../core/errors.ts';
import { missText } from '../../store/actions/miss-text.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { observeOutput, sameOutput } from '../outputs/outputs.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import { explain } from '../run/explain.ts';
import type { Hit } from '../run/hit.ts';
import { keyAction } from '../run/key.ts';
import { lookup } from '../run/lookup.ts';
import { MissReasons } from '../run/miss-reasons.ts';
import type { Graph } from './graph.ts';
import type { StepContext } from './run-step.ts';

export interface Forecast {
  readonly step: string;
  readonly outcome: 'hit-local' | 'hit-remote' | 'miss' | 'unknown';
  readonly key?: string;
  readonly why: string;
}

export async function forecast({ order }: Graph, context: StepContext): Promise<Forecast[]> {
  const { cache } = await context.stepRunner();
  const found: Forecast[] = [];
  /** Steps whose outputs are not final yet, with the reason. */
  const unfinished = new Map<string, string>();
  for (const step of order) {
    const behind = step.dependsOn.find((id) => unfinished.has(id));
    const one =
      behind === undefined
        ? await forecastStep(step, context, cache, (why) => unfinished.set(step.id, why))
        : { step: step.id, outcome: 'unknown' as const, why: `${behind} ${unfinished.get(behind)}` };
    if (behind !== undefined) unfinished.set(step.id, 'comes first');
    found.push(one);
  }
  return found;
}

async function forecastStep(
  step: Step,
  context: StepContext,
  cache: Cache,
  markUnfinished: (why: string) => void,
): Promise<Forecast> {
  try {
    const { caller } = context;
    const request = requestOf(step, context.workspace, caller);
    const { now } = context;
    const reasons = new MissReasons();
    const quiet: RunContext = reasons.within({
      ...{ cache, caller, stdout: DISCARD, stderr: DISCARD },
      report() {},
      now: () => now(),
    });
    const action = keyAction(request, quiet);
    const key = action.key.hash;
    const hit = await lookup(action, quiet);
    if (hit) {
      if (hit.exitCode !== 0) {
        markUnfinished('fails');
        return { step: step.id, outcome: hit.outcome, key, why: hit.reason };
      }
      const why = isInPlace(hit, action, cache) ? 'in place' : 'to be restored';
      if (why === 'to be restored') markUnfinished('is to be restored first');
      return { step: step.id, outcome: hit.outcome, key, why: `${hit.reason}, ${why}` };
    }
    markUnfinished('would run first');
    const { miss } = await explain(action, quiet, reasons);
    return { step: step.id, outcome: 'miss', key, why: missText(miss) };
  } catch (error) {
    markUnfinished('can’t run');
    return { step: step.id, outcome: 'unknown', why: messageOf(error) };
  }
}

const DISCARD = { write() {} };

function isInPlace({ outputs }: Hit, { request }: KeyedAction, { digests }: Cache): boolean {
  return outputs.every((output) =>
    sameOutput(observeOutput(request.workspace, output.path, digests), output),
  );
}
