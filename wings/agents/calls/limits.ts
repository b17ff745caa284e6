// Every limit of memoised calls.
import { MIB, MINUTE } from '../../../core/units.ts';

export const CALLS = {
  /** The input, and an answer in JSON, as canonical text; how deep both may nest. */
  maxJsonLength: 16 * MIB,
  maxJsonDepth: 100,
  /** An answer in bytes. */
  maxAnswerBytes: 64 * MIB,
  /** The name and the version of a function. */
  maxNameLength: 200,
  /** An answer up to this size lies in its record. */
  inlinedBytes: 16 * 1024,
  /** How long a call waits for the same call in another process, and when one that can't be seen counts as dead. */
  waitMs: 30 * MINUTE,
  abandonedMs: 60 * MINUTE,
  /** The store stays open for the next call. */
  lingerMs: 50,
} as const;
