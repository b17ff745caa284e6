// Every limit of the wing agents.
import { KIB, MIB, SECOND } from '../../core/units.ts';

export const AGENTS = {
  /** How long `assay status` waits for the remote. */
  remoteMs: 2 * SECOND,
  /** The steps that `assay status` prints for a person. */
  shownSteps: 20,
  /** Of `assay mcp`: calls at a time, and steps that one call may name. */
  calls: 8,
  namedSteps: 50,
  /** How often a call tells its progress, at most. */
  progressSteps: 50,
  /** How long a cancelled run has to end by itself. The SDK's client kills a server 4 s after it has closed the connection. */
  graceMs: 1.5 * SECOND,
  /** The runs whose logs are kept, how much of the logs of each, and a page of one. */
  runs: 20,
  logBytes: 4 * MIB,
  pageBytes: 8 * KIB,
  /** The server reads this much of a command's standard error, and tells this much of it. */
  saidBytes: 16 * KIB,
  refusalBytes: 1_000,
  /** Lines of an audit. */
  lines: 200,
} as const;
