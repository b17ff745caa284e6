// The limits for tracing, sandboxing and repeating a command.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const HERMETICITY = {
  /** How long a process may outlive the traced command before the tracer kills it. */
  lingerMs: 2 * SECOND,
  /** How long a tracer's self-test may take. */
  trialMs: 10 * SECOND,
  /** Beyond this many different accesses the tracer drops the rest and marks the trace incomplete. */
  maxAccesses: 2_000_000,
  /** The longest path that a tracer records. */
  maxPathBytes: 16 * KIB,
} as const;

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
