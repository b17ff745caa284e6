// The context that a run gets from its caller: the caches, the environment, the output streams, the clock and hooks.
import type { Hash } from '../../core/digest.ts';
import type { Variables } from '../action/environment.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { ActionLease, ActionLeaseMode, LeaseWait } from '../lease/action-lease.ts';
import type { Ownership } from '../outputs/output-lock.ts';
import type { FactDifference } from '../path-sets/difference.ts';
import type { ScratchPool } from '../process/scratch-pool.ts';
import type { Report } from '../terminal/events.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { Cache } from './caches.ts';
import type { Execution } from './execute.ts';
import type { Hit } from './hit.ts';
import type { RunEnd } from './run.ts';
import type { OpenStepHook } from './step-hook.ts';

/** Runs the command as after a miss, without the state of earlier runs. */
export type Execute = (context: RunContext) => Promise<Execution>;

/** The hits whose commands run all the same (--check-hits), and the check of one. */
export interface HitChecks {
  readonly percent: number;
  readonly seed: string;
  includes(key: Hash): boolean;
  /** Compares what the command makes with the stored result. The caller holds the locks of the outputs. */
  check(hit: Hit, action: KeyedAction, context: RunContext, execute: Execute): Promise<RunEnd>;
}

export interface RunContext {
  readonly cache: Cache;
  readonly caller: Variables;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly report: Report;
  /** The hits to check (--check-hits). */
  readonly sample?: HitChecks | undefined;
  /** What wings do around the commands of steps; by default nothing. */
  readonly stepHook?: OpenStepHook | undefined;
  /** The command starts without the state of earlier runs. */
  readonly withoutState?: boolean;
  /** How often a command that fails is run again (--retry); by default never. */
  readonly retries?: number | undefined;
  /** The run does not wait for its uploads; the caller that opened the cache does at the end. */
  readonly uploadsLater?: boolean;
  /**
   * Resolves when the command may run: `--jobs` bounds the running commands. Rejects if the run was
   * cancelled.
   */
  acquireJobSlot?(): Promise<void>;
  /** The command has ended, and the run will succeed: another command may run. */
  releaseJobSlot?(): void;
  /** The run waits for another one: other steps may begin in its place. `acquireJobSlot` ends that. */
  leaveJobSlot?(): void;
  /** Whether the run asks for action leases; by default it does not. */
  readonly actionLease?: ActionLeaseMode | undefined;
  /** The lease of the action, once it was asked for. */
  readonly lease?: Pick<ActionLease<Hit>, 'fence'> | undefined;
  /** Counts on if the run starts again. */
  readonly leaseWait?: LeaseWait | undefined;
  /** Throws if the run was cancelled; called while the run waits for another one. */
  throwIfCancelled?(): void;
  /** The locks of the outputs, while the run holds them. */
  readonly ownership?: Ownership;
  /** Scratch folders of earlier commands of the same graph run. */
  readonly scratch?: ScratchPool | undefined;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
  now(): number;
  /** Called if the remote has results of this key for other facts. `why`: which fact differs. */
  onFactsDiffer?(why: () => FactDifference | undefined): void;
  /** Called for a miss with the EarlierAction of the step, if the remote tells one. */
  onEarlier?(message: Uint8Array): void;
  /** Called if the local store has a result that this run does not accept. */
  onRefused?(why: string): void;
  /** Called as soon as the action has its key. */
  onKeyed?(action: KeyedAction): void;
  /** Called when the outputs were written: the command ran and the local store has its result, or it was restored. */
  onMade?(hit: Hit, how: 'executed' | 'restored'): void;
}
