// Every bound of watching, sandboxing and repeating a command.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const HERMETICITY = {
  /** How long processes that outlive a traced command may go on before they are ended. */
  lingerMs: 2 * SECOND,
  /** How long a tracer may take to show that it works here. */
  trialMs: 10 * SECOND,
  /** More different accesses than this are not kept: the trace is then incomplete. */
  maxAccesses: 2_000_000,
  /** The longest path a tracer keeps. */
  maxPathBytes: 16 * KIB,
} as const;

export const REPRODUCE = {
  /** How much of a file is read at a time. */
  readBytes: 1 * MIB,
  /** How long the clock that a run is shown stands still, at least. */
  holdMs: 30 * SECOND,
  /** How long one run may take, at least … */
  runMs: 2 * MINUTE,
  /** … or, where its clocks stand still and it may wait in vain … */
  frozenRunMs: 15 * SECOND,
  /** … and how many times longer than the command takes by itself, since every question that it asks is answered by hand. */
  slowness: 20,
  /** How much of what a run says is compared. */
  heardBytes: 1 * MIB,
  /** A copy of more than this is not made. */
  copyBytes: 8 * GIB,
} as const;
