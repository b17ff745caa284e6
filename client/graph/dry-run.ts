// What a run would do, without doing it: each step's key, whether there is a result for it and where, and if not, why. A
// step behind one that would run, or whose outputs are not in place, has no key yet: its inputs are not there.

import { messageOf } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { decodeResult } from '../../core/result.ts';
import type { Cache } from '../cache.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { RunContext } from '../context.ts';
import { explain } from '../explain.ts';
import { type KeyedAction, keyOf } from '../key.ts';
import { observeOutput, outputsNamedBy, sameOutput } from '../outputs.ts';
import { readBlob } from '../read-blob.ts';
import type { Graph } from './graph.ts';
import type { StepContext } from './run-step.ts';

export interface Forecast {
  readonly step: string;
  readonly outcome: 'hit-local' | 'hit-remote' | 'miss' | 'unknown';
  readonly key?: string;
  readonly why: string;
}

export async function forecast({ order }: Graph, context: StepContext): Promise<Forecast[]> {
  const found: Forecast[] = [];
  /** Steps whose outputs are not, or not surely, what they will be. */
  const open = new Map<string, string>();
  for (const step of order) {
    const behind = step.dependsOn.find((id) => open.has(id));
    const one =
      behind === undefined
        ? await forecastStep(step, context, (why) => open.set(step.id, why))
        : { step: step.id, outcome: 'unknown' as const, why: `${behind} ${open.get(behind)}` };
    if (behind !== undefined) open.set(step.id, 'comes first');
    found.push(one);
  }
  return found;
}

async function forecastStep(
  step: Step,
  context: StepContext,
  leaveOpen: (why: string) => void,
): Promise<Forecast> {
  try {
    const { request, caller } = requestOf(step, context.workspace, context.caller);
    const { cache, now } = context;
    const quiet: RunContext = { cache, caller, stdout: DEAF, stderr: DEAF, report() {}, now: () => now() };
    const action = keyOf(request, quiet);
    const key = action.key.hash;
    if (cache.hits.recall(action)) return { step: step.id, outcome: 'hit-local', key, why: 'found in place' };
    const local = await localHit(action, cache);
    if (local !== undefined) {
      if (local !== 'in place') leaveOpen('is to be restored first');
      return { step: step.id, outcome: 'hit-local', key, why: `found in the local store, ${local}` };
    }
    const remote = await cache.openRemote();
    if (remote?.usable && (await remote.getResult(action.key))) {
      leaveOpen('is to be fetched first');
      return { step: step.id, outcome: 'hit-remote', key, why: 'found in the remote cache' };
    }
    leaveOpen('would run first');
    return { step: step.id, outcome: 'miss', key, why: (await explain(action, quiet)).reason };
  } catch (error) {
    leaveOpen('can’t run');
    return { step: step.id, outcome: 'unknown', why: messageOf(error) };
  }
}

const DEAF = { write() {} };

async function localHit(action: KeyedAction, cache: Cache): Promise<string | undefined> {
  const store = await cache.openStore();
  const stored = await store?.results.get({ namespace: DEFAULT_NAMESPACE, key: action.key.hash });
  if (!store || !stored) return undefined;
  const { workspace, workingDirectory, cacheFailures } = action.request;
  const result = decodeResult(stored.bytes);
  if (result.exitCode !== 0 && !cacheFailures) return undefined;
  const outputs = await outputsNamedBy(result, workingDirectory, ({ hash }) => readBlob(hash, store.blobs));
  const inPlace = outputs.every((output) =>
    sameOutput(observeOutput(workspace, output.path, cache.digests), output),
  );
  return inPlace ? 'in place' : 'to be restored';
}
