// Every limit of `assay forget`, and of what a server answers to it.
import { SECOND } from '../../core/units.ts';

export const FORGET = {
  /** Keys that --verbose lists. */
  listed: 1000,
  /** Namespaces, writers and protocols that are printed of each; --json has more. */
  groups: 20,
  /** How often the progress is printed. */
  progressMs: 2 * SECOND,
} as const;

export const ADMIN = {
  /** Reviews of the whole store, at once and in the queue. */
  maxReviews: 1,
  maxQueuedReviews: 16,
  /** Keys of one forget, and keys that its report lists. */
  maxForgetKeys: 10_000,
  /** Divergences in one answer, if the client names no number. */
  listedDivergences: 100,
  /** How often the answer to a long request reports its progress. */
  progressMs: 1 * SECOND,
} as const;
