// The limits for repeating a command.
import { GIB, MIB, MINUTE, SECOND } from '../../core/units.ts';

export const REPRODUCE = {
  /** The size of one read from a file. */
  readBytes: 1 * MIB,
  /** The minimum time for which the simulated clock stands still. */
  holdMs: 30 * SECOND,
  /** The minimum time limit of one run. */
  runMs: 2 * MINUTE,
  /** The same for a run whose clocks are frozen: it may wait forever. */
  frozenRunMs: 15 * SECOND,
  /** The time limit as a multiple of the ordinary run: the helper intercepts each of its system calls. */
  slowness: 20,
  /** How much of each output stream is compared. */
  comparedStreamBytes: 1 * MIB,
  /** The largest workspace that is copied. */
  copyBytes: 8 * GIB,
} as const;
