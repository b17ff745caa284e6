// Every limit of `assay doctor`.
import { GIB, SECOND } from '../../core/units.ts';

export const DOCTOR = {
  /** The free space below which `assay doctor` warns. */
  roomyBytes: 2 * GIB,
  /** The largest difference between a new file's mtime and the clock. */
  skewMs: 3 * SECOND,
  /** 1 January 2026: a clock before it is wrong. */
  earliest: 1_767_225_600_000,
  slowRemoteMs: 300,
  /** How long a server may take for one answer. */
  serverMs: 15 * SECOND,
  /** The largest difference between the clocks of a server and of this machine. */
  serverSkewMs: 30 * SECOND,
  /** Of an answer that says why a server is not ready. */
  shownText: 300,
  /** How long the server may take to tell what the token is. */
  tokenInfoMs: 15 * SECOND,
} as const;
