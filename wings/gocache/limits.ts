// Every limit of the cache program of the go command.
import { KIB, MINUTE } from '../../core/units.ts';

export const GOCACHE = {
  /** A request without its body is a few hundred bytes. */
  maxLineBytes: 64 * KIB,
  /** Concurrent requests; the go command waits with the others. */
  concurrentRequests: 64,
  /** Queued uploads; further results stay local. */
  maxUploads: 10_000,
  /** Files that no build has used for this long are removed, as the go command does with its own. */
  unusedFileMs: 5 * 24 * 60 * MINUTE,
  /** How often a use is recorded, and how often unused files are swept. */
  noteUseMs: 24 * 60 * MINUTE,
} as const;
