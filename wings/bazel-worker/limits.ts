// Every limit of the worker of Bazel.
import { MIB } from '../../core/units.ts';

export const BAZEL = {
  /** A request names every input of an action: some hundred bytes for each. */
  maxRequestBytes: 256 * MIB,
  /** The longest output of a tool: the response is one message, which Bazel shows to a person. */
  maxOutputBytes: 16 * MIB,
} as const;
