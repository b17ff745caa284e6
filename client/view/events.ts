// The events of a graph run, as one union. Views turn them into a screen, lines or JSON; nothing else prints.
// docs/EVENTS.md describes them for machines. A change of a meaning there needs a new EVENTS_VERSION.
import type { Digest } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import type { Checked } from '../../core/metadata/receipt.ts';
import type { StepOutcome, Tries } from '../../core/metadata/run-report.ts';
import type {
  MissCause,
  ReportedDifference,
  ReportedFinding,
} from '../../core/metadata/run-report-schema.ts';
import type { SeenIn } from '../history/history.ts';
import type { LeaseUse } from '../lease/action-lease.ts';
import type { StreamName } from '../process/log.ts';
import type { HitReceipt } from '../run/receipt.ts';

export const EVENTS_VERSION = 1;

export interface StepEnd {
  readonly step: string;
  readonly outcome: StepOutcome;
  /** Absent if the step failed before it had a key. */
  readonly key?: string;
  readonly exitCode: number;
  /** For a miss: what differs from the closest earlier action. */
  readonly reason: string;
  /** Of a miss, for a machine. */
  readonly cause?: MissCause;
  /** Of a miss: what differs from the earlier action, without values; how many more; where the earlier run was. */
  readonly differences?: readonly ReportedDifference[];
  readonly moreDifferences?: number;
  readonly seen?: SeenIn;
  /** If its command failed: the blob in the local store with the end of what it printed. */
  readonly log?: Digest;
  readonly published: boolean;
  /** At the end of the step. Uploads go on in the background, also after the last step. */
  readonly shared: boolean;
  readonly diverged?: true;
  /** If the command was run more than once (--retry). */
  readonly tries?: Tries;
  /** For a hit whose command ran all the same (--check-hits): whether it made what is stored. */
  readonly checked?: Checked;
  readonly outputsWritten: number;
  /** The duration of the command when it ran, and of this step now. */
  readonly commandMs: number;
  readonly elapsedMs: number;
  /** What the step had to do with action leases, and how long it waited for other runs; absent for "none". */
  readonly actionLease?: LeaseUse;
  readonly leaseWaitedMs?: number;
  /** The status of the evidence (docs/HERMETICITY.md): declared, observed, unproven or unwatched. */
  readonly status?: EvidenceStatus;
  /** For a hit, if the run was asked for receipts: whose run made the result, and what was compared. */
  readonly receipt?: HitReceipt;
  /** Why the result was not stored; absent if it was. */
  readonly notPublished?: string;
  /** What to do about a failure that is not the command's. */
  readonly wayOut?: string;
  /** The command succeeded, but accessed undeclared files under "hermetic": "strict". */
  readonly notHermetic?: true;
  /** The failure comes from the cache (`cacheFailures`). */
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
  /** The sum over all hits: the command's duration when it ran, minus the hit's now. */
  readonly savedMs: number;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Results that are not at the remote yet. */
  readonly unshared: number;
  /** One action had a different result before, which stays. */
  readonly diverged?: true;
  /** How many steps were flaky (--retry), whatever their outcome; absent for none. */
  readonly flaky?: number;
  /** With --check-hits: the sample, and what the checks found. */
  readonly checkHits?: CheckTotals;
  /** Warnings that concern the whole run, such as an unreachable remote. */
  readonly warnings: readonly string[];
  readonly exitCode: number;
}

/** The sample of --check-hits. */
export interface CheckedSample {
  readonly percent: number;
  readonly seed: string;
}

/** How many hits have each verdict. */
export interface CheckTotals extends CheckedSample, Readonly<Record<Checked, number>> {}

export type GraphEvent =
  | {
      readonly type: 'run-started';
      readonly version: typeof EVENTS_VERSION;
      readonly at: string;
      readonly workspace: string;
      readonly steps: number;
      readonly jobs: number;
      /** With --check-hits. */
      readonly checkHits?: CheckedSample;
    }
  | { readonly type: 'step-started'; readonly step: string; readonly command: readonly string[] }
  /** The step waits for a job slot to run its command. */
  | { readonly type: 'step-waiting'; readonly step: string }
  | { readonly type: 'step-resumed'; readonly step: string }
  | {
      readonly type: 'step-log';
      readonly step: string;
      readonly stream: StreamName;
      readonly bytes: Uint8Array;
    }
  | { readonly type: 'step-warning'; readonly step: string; readonly text: string }
  /** The step waits for another run, which executes the same action. It holds no job slot. */
  | {
      readonly type: 'step-waits-for-run';
      readonly step: string;
      readonly holder?: string;
      readonly leftMs?: number;
    }
  /** The command failed and runs again (--retry): the `attempt`th try of `of`. */
  | {
      readonly type: 'step-retried';
      readonly step: string;
      readonly exitCode: number;
      readonly attempt: number;
      readonly of: number;
    }
  /** What the command did beyond its declaration. */
  | { readonly type: 'step-findings'; readonly step: string; readonly findings: readonly ReportedFinding[] }
  /** A warning that concerns the whole run; emitted once. */
  | { readonly type: 'run-warning'; readonly text: string }
  | {
      readonly type: 'step-transfer';
      readonly step: string;
      readonly direction: 'up' | 'down';
      readonly bytes: number;
    }
  /** Steps wait for a job slot and none has one: other runs of the user hold all `jobs`. */
  | { readonly type: 'run-waiting'; readonly jobs: number }
  /** All steps have ended and `results` uploads are still in progress. */
  | { readonly type: 'run-sending'; readonly results: number }
  | ({ readonly type: 'step-finished' } & StepEnd)
  | ({ readonly type: 'run-finished' } & GraphSummary);

export type Emit = (event: GraphEvent) => void;
