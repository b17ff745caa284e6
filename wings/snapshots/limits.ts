// Every limit of state and checkpoints.
import { MINUTE, SECOND } from '../../core/units.ts';

export const CHECKPOINT = {
  /** How often the request folder is polled. */
  requestPollMs: 50,
  /** How often sealing is tried if the folders change meanwhile. */
  attempts: 3,
  /** `assay checkpoint` waits this long at most. */
  waitMs: 30 * MINUTE,
  /** How many checkpoints a run tries if the newest is damaged. */
  tried: 20,
} as const;

export const STATE = {
  /** How many ancestor commits are searched for state; all of them are in one request to a remote. */
  ancestors: 64,
  /** The time limit of git; afterwards the newest state is used. */
  gitMs: 10 * SECOND,
} as const;
