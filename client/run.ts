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
import { keyOf } from './key.ts';
import { replay } from './log.ts';
import { lookup } from './lookup.ts';
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
  const { key } = action;
  const elapsed = () => context.now() - began;

  const hit = await lookup(action, context);
  const restored = hit && (await restore(hit, action, context));
  if (hit && restored) {
    replay(hit.log, context);
    const { outcome, reason, exitCode, commandMs } = hit;
    context.cache.remember({ action, outcome, reason });
    const { written: outputsWritten } = restored;
    return {
      outcome,
      key: key.hash,
      exitCode,
      reason,
      published: false,
      shared: false,
      outputsWritten,
      commandMs,
      elapsedMs: elapsed(),
    };
  }

  const { reason, against } = await explain(action, context);
  const execution = await execute(action, context);
  const sealed = seal(action, execution, context);
  const { published, shared } = await publish(action, sealed, context);
  context.cache.remember({ action, outcome: 'miss', reason, against });
  const { exitCode, commandMs } = execution;
  return {
    outcome: 'miss',
    key: key.hash,
    exitCode,
    reason,
    published,
    shared,
    outputsWritten: 0,
    commandMs,
    elapsedMs: elapsed(),
  };
}
