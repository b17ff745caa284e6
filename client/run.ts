// One action from key to result. This file is the map: each arrow of the flow is one call, and each call is one file.
//
//                 ┌─ hit ──> restore ──────────────────┐
//   key > lookup ─┤                                    ├─> the log, the exit code
//                 └─ miss ─> execute > seal > publish ─┘
//
// The command's exit code and outputs are the same whether or not any cache works.
import type { RunContext } from './context.ts';
import { execute } from './execute.ts';
import { explain } from './explain.ts';
import type { Outcome } from './history.ts';
import { type KeyedAction, keyOf } from './key.ts';
import { replay } from './log.ts';
import { type Hit, lookup } from './lookup.ts';
import { whileOwningOutputs } from './output-lock.ts';
import { publish } from './publish.ts';
import type { RunRequest } from './request.ts';
import { restore } from './restore.ts';
import { seal } from './seal.ts';

export interface RunSummary {
  readonly outcome: Outcome;
  readonly key: string;
  readonly exitCode: number;
  /** For a miss: what differs from the closest earlier action. */
  readonly reason: string;
  /** The result is in the local store for the next run. */
  readonly published: boolean;
  /** It is at the remote too. */
  readonly shared: boolean;
  /** How many outputs had to be written; the others were right already. */
  readonly outputsWritten: number;
  /** How long the command takes when it runs, and how long all of this took. */
  readonly commandMs: number;
  readonly elapsedMs: number;
}

export async function run(request: RunRequest, context: RunContext): Promise<RunSummary> {
  const began = context.now();
  const action = keyOf(request, context);
  context.keyed?.(action);
  const hit = await lookup(action, context);
  const ran = hit?.inPlace ? finishHit(hit, 0, action, context) : await makeOutputs(hit, action, context);
  return { ...ran, key: action.key.hash, elapsedMs: context.now() - began };
}

type Ran = Omit<RunSummary, 'key' | 'elapsedMs'>;

/** Who had to wait for another run of the same step looks again: that one may have made what is wanted. */
function makeOutputs(found: Hit | undefined, action: KeyedAction, context: RunContext): Promise<Ran> {
  return whileOwningOutputs(action.request, context.report, async (waited) => {
    const hit = waited ? await lookup(action, context) : found;
    const restored = hit && (await restore(hit, action, context));
    return restored ? finishHit(hit, restored.written, action, context) : runCommand(action, context);
  });
}

function finishHit(hit: Hit, outputsWritten: number, action: KeyedAction, context: RunContext): Ran {
  const { outcome, reason, exitCode, commandMs } = hit;
  replay(hit.log, context);
  context.cache.remember({ action, outcome, reason });
  return { outcome, exitCode, reason, published: false, shared: false, outputsWritten, commandMs };
}

async function runCommand(action: KeyedAction, context: RunContext): Promise<Ran> {
  const { reason, against } = await explain(action, context);
  const execution = await execute(action, context);
  const sealed = seal(action, execution, context);
  const { published, shared } = await publish(action, sealed, context);
  context.cache.remember({ action, outcome: 'miss', reason, against });
  const { exitCode, commandMs } = execution;
  return { outcome: 'miss', exitCode, reason, published, shared, outputsWritten: 0, commandMs };
}
