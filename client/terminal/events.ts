// The events of one run, as one union. The flow emits them and never prints; reporters turn them into text.
import type { RelPath } from '../../core/path.ts';
import type { Finding } from '../../hermeticity/verdict/finding.ts';

export type RunEvent =
  /** The local store is unusable. The command still runs. */
  | { readonly type: 'store-unusable'; readonly why: string }
  | { readonly type: 'remote-given-up'; readonly why: string }
  /** The remote refuses uploads. Assay still asks it for results. */
  | { readonly type: 'remote-takes-nothing'; readonly why: string }
  | { readonly type: 'hit-unusable'; readonly why: string }
  | { readonly type: 'not-published'; readonly why: string }
  /** The result is kept on this machine only. */
  | { readonly type: 'not-shared'; readonly why: string }
  /** The same action produced different outputs before. The first result stays, locally or at the remote. */
  | { readonly type: 'diverged'; readonly where: string }
  /** The command has ended and `results` uploads are still in progress. */
  | { readonly type: 'sending'; readonly results: number }
  /** Results that the remote does not have yet. The next run uploads them. */
  | { readonly type: 'unshared'; readonly results: number; readonly why: string }
  /**
   * The command runs without a tracer, so its accesses are unknown. `anyCommand`: no tracer works here. `kept`: this
   * run keeps unproven results.
   */
  | { readonly type: 'unwatched'; readonly why: string; readonly anyCommand?: { readonly kept: boolean } }
  /** Accesses beyond the declaration (`findings`), and why the trace is incomplete (`gaps`). */
  | { readonly type: 'findings'; readonly findings: readonly Finding[]; readonly gaps: readonly string[] }
  /** Assay found a result and refused it. */
  | { readonly type: 'hit-refused'; readonly why: string }
  /** What a check of a hit found (--check-hits). */
  | { readonly type: 'hit-check'; readonly text: string }
  /** The run waits for another one, which executes the same action. `leftMs`: how long that will still take, if known. */
  | { readonly type: 'waiting-for-run'; readonly holder?: string; readonly leftMs?: number }
  /** The command failed and runs again (--retry): the `attempt`th try of `of`. */
  | { readonly type: 'retried'; readonly exitCode: number; readonly attempt: number; readonly of: number }
  /** The command failed, and is not run again. */
  | { readonly type: 'not-retried'; readonly why: string }
  /** The run that this one waited for, or its own lease, has come to nothing. The command runs. */
  | { readonly type: 'lease-over'; readonly why: string }
  /** The remote refuses what this run writes beside its result: another run has the action's lease. */
  | { readonly type: 'label-refused'; readonly what: string; readonly why: string }
  /** The command resumes from the checkpoint of an earlier run. */
  | { readonly type: 'resumed'; readonly checkpoint: number }
  /** A checkpoint can't be restored. The one before it is tried. */
  | { readonly type: 'checkpoint-skipped'; readonly checkpoint: number; readonly why: string }
  /** Checkpoints are made faster than they upload. `arrived`: the last one at the remote, 0 for none. */
  | { readonly type: 'checkpoints-behind'; readonly sealed: number; readonly arrived: number }
  /** A checkpoint failed. Later ones are still tried. */
  | { readonly type: 'unsealed'; readonly why: string }
  /** The command starts with the state that an earlier run of the same step left. */
  | { readonly type: 'state-carried'; readonly from: string }
  /** The caches of a tool are out of sight while the command that runs it runs. */
  | { readonly type: 'caches-set-aside'; readonly tool: string; readonly paths: readonly RelPath[] }
  /** A command failed that may have needed this folder of an output, which did not exist. */
  | { readonly type: 'folder-missing'; readonly folder: RelPath }
  /** A command failed because its PATH lacks a program. `yours`: where the caller's PATH has it. */
  | {
      readonly type: 'program-missing';
      readonly name: string;
      readonly path: string;
      readonly yours?: string;
      /** The programs of a package are on this PATH. */
      readonly hasPackage: boolean;
    }
  /** The command ran another version of a runtime than the caller's PATH leads to. */
  | {
      readonly type: 'other-runtime';
      readonly name: string;
      readonly ran: string;
      readonly yours: string;
    }
  /** A cache that was set aside could not be put back. The next run tries again. */
  | { readonly type: 'cache-not-put-back'; readonly path: RelPath; readonly aside: string }
  /** The state of this run could not be stored. The next run starts with an older one. */
  | { readonly type: 'state-not-kept'; readonly why: string }
  /** Another run holds the lock of the same output. */
  | { readonly type: 'waiting'; readonly output: string }
  /** A flag that has a new name was given. */
  | { readonly type: 'stray-link'; readonly path: RelPath }
  | { readonly type: 'secret-declared'; readonly name: string }
  | {
      readonly type: 'transfer';
      readonly direction: 'up' | 'down';
      readonly done: number;
      readonly of: number;
      readonly bytes: number;
    };

export type Report = (event: RunEvent) => void;
