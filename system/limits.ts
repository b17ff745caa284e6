// The limits of calls to the operating system, and of locks between processes.
import { SECOND } from '../core/units.ts';

/** If the process has no descriptor left, an open is retried this often and for this long. */
export const DESCRIPTORS = {
  pollMs: 20,
  waitMs: 10 * SECOND,
} as const;

export const FILE_LOCK = {
  /** How often and how long to ask for the lock of a live holder. */
  pollMs: 10,
  waitMs: 60 * SECOND,
  /** The age at which the lock of a holder that cannot be seen counts as abandoned. */
  abandonedMs: 30 * SECOND,
} as const;
