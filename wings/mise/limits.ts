// Every limit of the cache protocol of mise.
import { KIB, MIB } from '../../core/units.ts';

export const MISE = {
  /** The body of a commit: three digests. */
  maxResultBytes: 16 * KIB,
  /** A description of an action, its metadata with the log, or a folder. Each is parsed in memory. */
  maxObjectBytes: 4 * MIB,
  maxObjectDepth: 64,
  /** All folders of one result together, and all blobs that it reaches. */
  maxFolderBytes: 32 * MIB,
  maxReachable: 20_000,
  /** Digests in one question for missing blobs. */
  maxBatchItems: 1_000,
  /** Lookups of one request at a time. */
  concurrentLookups: 16,
  /** Bytes of one body that wait for the thread that hashes. */
  hashedAheadBytes: 1 * MIB,
} as const;
