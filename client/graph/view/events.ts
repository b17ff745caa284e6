// Everything that a run of a graph tells, as one union. Views turn it into a screen, lines or JSON; nothing else prints.
// docs/EVENTS.md is its description for machines; what changes a meaning there changes EVENTS_VERSION.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import type { Outcome } from '../../history/history.ts';
import type { StreamName } from '../../run/log.ts';

export const EVENTS_VERSION = 1;

/**
 * `failed`: its command ran and ended with another code than 0, or could not be started. `interrupted`: the same, after somebody had
 * told the run to end. `skipped`: it never ran.
 */
export type StepOutcome = Outcome | 'failed' | 'interrupted' | 'skipped';

export interface StepEnd {
  readonly step: string;
  readonly outcome: StepOutcome;
  /** Absent where it never came to a key. */
  readonly key?: string;
  readonly exitCode: number;
  /** For a miss: what differs from the closest earlier action. */
  readonly reason: string;
  readonly published: boolean;
  /** When the step ended: uploads go on beside the others, and after the last. */
  readonly shared: boolean;
  readonly diverged?: true;
  readonly outputsWritten: number;
  /** How long the command takes when it runs, and how long all of this took. */
  readonly commandMs: number;
  readonly elapsedMs: number;
  /** What is known of the run that made the result (docs/HERMETICITY.md). */
  readonly standing?: EvidenceStatus;
  /** Why a result was not kept, if it was not. */
  readonly notPublished?: string;
  /** What to do about a failure that is not the command's. */
  readonly wayOut?: string;
  /** It failed though its command did not: that saw more than it declared, and was not to. */
  readonly notHermetic?: true;
  /** Its failure is one that was stored (`cacheFailures`). */
  readonly replayed?: true;
}

export interface GraphSummary {
  readonly steps: number;
  readonly hitsLocal: number;
  readonly hitsRemote: number;
  readonly misses: number;
  readonly failed: number;
  readonly interrupted: number;
  readonly skipped: number;
  /** What the commands of all hits took when they ran, less what the hits took now. */
  readonly savedMs: number;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Results that were to be shared and are not at the remote yet. */
  readonly unshared: number;
  /** Another result of one of the actions was there first, and stays. */
  readonly diverged?: true;
  /** What was not as it should be for all steps alike: the remote. */
  readonly warnings: readonly string[];
  readonly exitCode: number;
}

export type GraphEvent =
  | {
      readonly type: 'run-started';
      readonly version: typeof EVENTS_VERSION;
      readonly at: string;
      readonly workspace: string;
      readonly steps: number;
      readonly jobs: number;
    }
  | { readonly type: 'step-started'; readonly step: string; readonly command: readonly string[] }
  /** It has to run its command, and others come first. */
  | { readonly type: 'step-waiting'; readonly step: string }
  | { readonly type: 'step-resumed'; readonly step: string }
  | {
      readonly type: 'step-log';
      readonly step: string;
      readonly stream: StreamName;
      readonly bytes: Uint8Array;
    }
  | { readonly type: 'step-warning'; readonly step: string; readonly text: string }
  /** What concerns all steps alike, told once. */
  | { readonly type: 'run-warning'; readonly text: string }
  | {
      readonly type: 'step-transfer';
      readonly step: string;
      readonly direction: 'up' | 'down';
      readonly bytes: number;
    }
  /** All steps have ended; so many results are still on their way to the remote. */
  | { readonly type: 'run-sending'; readonly results: number }
  | ({ readonly type: 'step-finished' } & StepEnd)
  | ({ readonly type: 'run-finished' } & GraphSummary);

export type Emit = (event: GraphEvent) => void;
