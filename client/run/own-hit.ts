// The result of a command that has just run, as a later lookup would find it.
// The end of a graph run checks with it which steps are in place (graph/made-steps.ts).
import { digestOf } from '../../core/digest.ts';
import type { ObservedPath } from '../../core/path-set.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { countFacts } from '../path-sets/fact-counts.ts';
import type { Candidate } from '../path-sets/path-sets.ts';
import { States } from '../path-sets/states.ts';
import type { RunContext } from './context.ts';
import type { Execution } from './execute.ts';
import type { Hit } from './hit.ts';
import type { SealedResult } from './seal.ts';

export function ownHit(
  action: KeyedAction,
  { result, made, outputs, status }: SealedResult,
  { exitCode, log, commandMs }: Execution,
  { key, set }: Candidate,
  { cache }: RunContext,
): Hit {
  const stateOf = ({ state }: ObservedPath) => state;
  const facts = countFacts(set ?? [], stateOf);
  return {
    outcome: 'hit-local',
    reason: 'made by this run',
    address: key.hash,
    result: digestOf(result).hash,
    outputs,
    log,
    exitCode,
    commandMs,
    status,
    receipt: { ...made, status, facts, compared: 'contents' },
    set,
    setCheck: () => new States(action, cache.digests, cache.systemFiles).checkOf(set ?? [], stateOf),
  };
}
