// The limits for tracing and sandboxing a command.
import { KIB, SECOND } from '../core/units.ts';

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
