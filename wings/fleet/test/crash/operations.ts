// What the processes of the fleet's fault test ask of a node, and what it answers.
import type { Hash } from '../../../../core/digest.ts';
import { noise } from '../../../../test/rig/random.ts';

/** A blob is its seed and its size, so that no bytes travel between the test and a node. */
export interface BlobSpec {
  readonly seed: number;
  readonly size: number;
}

export function bytesOf({ seed, size }: BlobSpec): Buffer {
  return noise(seed, size);
}

/** Of each fleet, in the bucket and in PostgreSQL. A twentieth of either is more than the largest entry there. */
export const LIMITS = { bucket: 24 * 1024 * 1024, index: 320 * 1024 };

/** A janitor that is stopped or cut off for so long loses its office. */
export const ELECTION_IDLE_MS = 2000;

export type Operation =
  | { readonly kind: 'put'; readonly blob: BlobSpec }
  /** Continues an upload in parts where an earlier node stopped. */
  | { readonly kind: 'upload'; readonly blob: BlobSpec }
  | { readonly kind: 'get'; readonly blob: BlobSpec }
  | { readonly kind: 'missing'; readonly blobs: readonly BlobSpec[] }
  | { readonly kind: 'put-result'; readonly key: string; readonly blobs: readonly BlobSpec[] }
  | { readonly kind: 'get-result'; readonly key: string }
  /** A label for the result of a key. */
  | { readonly kind: 'put-label'; readonly label: string; readonly key: string }
  | { readonly kind: 'get-label'; readonly label: string }
  /** A round of the janitor. */
  | { readonly kind: 'maintain' };

export type Answer =
  | { readonly kind: 'done' }
  | { readonly kind: 'miss' }
  | { readonly kind: 'hit'; readonly isRight: boolean }
  /** Positions in the question. */
  | { readonly kind: 'missing'; readonly absent: readonly number[] }
  /** Of a result: `stored`, `unchanged` or `diverged`. Of a label: `stored` or `taken`. Of a round: `elected` or `other`. */
  | { readonly kind: 'outcome'; readonly outcome: string }
  /** The SHA-256 of a result. */
  | { readonly kind: 'result'; readonly body: string }
  /** The key that a label names. */
  | { readonly kind: 'label'; readonly key: Hash }
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  /** The process was killed. */
  | { readonly kind: 'killed' };

export interface Question {
  readonly id: number;
  readonly operation: Operation;
}

export interface Reply {
  readonly id: number;
  readonly answer: Answer;
}
