// The port for wings that do something around the command of a step: state, checkpoints, leases, second runs.
// Each member belongs to one wing. A build without that wing lacks the member.
//
// Such a build runs a step with state as without a usable store: its state stays as it is and is not kept. It
// refuses checkpoints: their command may wait for an answer that nobody would give.
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import type { Reproduction } from '../../hermeticity/reproduction.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import type { RunRequest } from '../action/request.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { AskedLease, LeaseInHand } from '../lease/action-lease.ts';
import { clearState, leftoverState } from '../outputs/clear-state.ts';
import { cleanUpKilledRuns } from '../outputs/run-records.ts';
import type { HitChecks, RunContext } from './context.ts';
import { type Execution, execute } from './execute.ts';
import type { Hit } from './hit.ts';

export interface StepHook {
  /** Opened for the command of a step that declares state or checkpoints. */
  around?(action: KeyedAction, context: RunContext): Promise<AroundCommand>;
  /** Restores the state of the nearest earlier run, with its outputs, below `folder`. False if there is none. */
  restoreState?(action: KeyedAction, context: RunContext, folder: string): Promise<boolean>;
  /** Asks for the lease of an action, and waits for its holder as long as that is worth it. Never rejects, unless the run was cancelled. */
  lease?(action: KeyedAction, context: RunContext, asked: AskedLease<Hit>): Promise<LeaseInHand<Hit>>;
  /** Compares what the command of a hit makes with the stored result (--check-hits). The caller holds the locks of the outputs. */
  checkHit?: HitChecks['check'];
  /** Runs an audited command again under other conditions. The workspace stays unchanged. */
  repeat?(action: KeyedAction, context: RunContext, seen: TracedRun): Promise<Reproduction>;
}

/** What surrounds one command, from its start until its result is published. */
export interface AroundCommand {
  execute(): Promise<Execution>;
  /** Called at the end. `stateOf`: the command whose state later runs may start with, if they may. */
  finish(published: boolean, stateOf: Execution | undefined): Promise<void>;
}

/** The end and the accesses of a traced command. */
export interface TracedRun {
  readonly report: TraceReport;
  readonly exitCode: number;
  readonly tookMs: number;
}

/** Loaded by the first step that needs it. */
export type OpenStepHook = () => Promise<StepHook>;

/** What a command of a wing gets: the same port, with what all wings have. */
export interface StepHookPort {
  readonly stepHook: OpenStepHook;
}

export async function openAround(action: KeyedAction, context: RunContext): Promise<AroundCommand> {
  const { request } = action;
  refuseSandboxedState(request);
  refuseUnfitCheckpoints(request);
  const hook = await context.stepHook?.();
  if (hook?.around) return hook.around(action, context);
  const why = 'this build of Assay has no wing for it';
  if (request.checkpoint) throw new AssayError('ASSAY_NOT_IN_BUILD', `checkpoints: ${why}`);
  context.report({ type: 'state-not-kept', why });
  return {
    execute: () => execute(action, context, { restoreState: async () => withoutEarlier(request, context) }),
    async finish() {},
  };
}

/** The sandbox shows only declared inputs. */
export function refuseSandboxedState({ sandbox, state }: RunRequest): void {
  if (sandbox && state.length > 0)
    throw usage('--sandbox cannot be used with state: the sandbox shows only declared inputs');
}

function refuseUnfitCheckpoints({ sandbox, observed, checkpoint }: RunRequest): void {
  if (!checkpoint) return;
  if (sandbox)
    throw usage('--sandbox cannot be used with checkpoints: the sandbox shows only declared inputs');
  if (observed)
    throw usage(
      'checkpoints need declared inputs: with --inputs=observed a checkpoint may come from other inputs',
    );
}

function withoutEarlier(
  { workspace, state, hermetic }: RunRequest,
  { withoutState }: RunContext,
): string | undefined {
  cleanUpKilledRuns(workspace);
  return hermetic === 'strict' || withoutState
    ? clearState(workspace, state)
    : leftoverState(workspace, state);
}
