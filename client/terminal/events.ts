// Everything that a run wants a person or a machine to know while it goes on. Reporters consume it; the flow never prints.
import type { RelPath } from '../../core/path.ts';
import type { Finding } from '../../hermeticity/verdict/finding.ts';

export type RunEvent =
  /** The cache, or a part of it, is not to be had; the command runs all the same. */
  | { readonly type: 'store-unusable'; readonly why: string }
  | { readonly type: 'remote-given-up'; readonly why: string }
  /** It is still asked for results. */
  | { readonly type: 'remote-takes-nothing'; readonly why: string }
  | { readonly type: 'hit-unusable'; readonly why: string }
  | { readonly type: 'not-published'; readonly why: string }
  /** The same action made other outputs before, which stay: here, or at the remote. */
  | { readonly type: 'diverged'; readonly where: string }
  /** The command is done; so many results are still on their way to the remote. */
  | { readonly type: 'sending'; readonly results: number }
  /** Results that the remote does not have yet; the next run sends them. */
  | { readonly type: 'unshared'; readonly results: number; readonly why: string }
  /** No tracer works here: nobody knows what the command did beyond its declaration. */
  | { readonly type: 'unwatched'; readonly why: string }
  /** What a watched command did beyond its declaration, or why that is not all known. */
  | { readonly type: 'findings'; readonly findings: readonly Finding[]; readonly gaps: readonly string[] }
  /** A result was found that this run does not take. */
  | { readonly type: 'hit-refused'; readonly why: string }
  /** The command starts from an earlier one's checkpoint. */
  | { readonly type: 'resumed'; readonly checkpoint: number }
  /** Checkpoints are sealed faster than the remote takes them; `arrived`: the last that it has of this run, 0 for none. */
  | { readonly type: 'checkpoints-behind'; readonly sealed: number; readonly arrived: number }
  /** A checkpoint could not be taken; the next may. */
  | { readonly type: 'unsealed'; readonly why: string }
  /** The command starts with the state that an earlier run of its step left. */
  | { readonly type: 'state-carried'; readonly from: string }
  /** Its own could not be kept; the next run starts with an earlier one. */
  | { readonly type: 'state-not-kept'; readonly why: string }
  /** Another run works on the same output here. */
  | { readonly type: 'waiting'; readonly output: string }
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
