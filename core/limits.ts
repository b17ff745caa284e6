// Every bound in one place: how long Assay waits, how much it holds, how large a thing may be.

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

export const STORE = {
  /** Blobs up to this size live inside the index, larger ones in files of their own. */
  inlineBytes: 64 * KIB,
  /** How much of a large file is read, checked and sent at a time. */
  chunkBytes: 1 * MIB,
  /** How long a blob that was read and found whole is trusted before its checksum is computed again. */
  trustMs: 10 * MINUTE,
  /** How many such verdicts are remembered. */
  trustEntries: 100_000,
  /** An upload that was left behind by a dead process is removed after this long. */
  abandonedUploadMs: 24 * 60 * MINUTE,
} as const;

export const SERVER = {
  maxBlobBytes: 16 * GIB,
  maxResultBytes: 16 * MIB,
  maxHeaderBytes: 16 * KIB,
  /** A connection must send its whole header within this. */
  headerTimeoutMs: 10 * SECOND,
  /** Idle between two requests on one connection. */
  keepAliveMs: 75 * SECOND,
  /** A body may take this long before its first byte counts … */
  bodyGraceMs: 10 * SECOND,
  /** … and must then keep this average. */
  bodyBytesPerSecond: 16 * KIB,
  maxConnections: 4096,
  /** How long a stop waits for uploads in flight. */
  drainMs: 10 * SECOND,
} as const;

export const REMOTE = {
  /** All the waiting that a faulty remote may cost one run, whatever it does. */
  patienceMs: 1_500,
  /** Below this a transfer uses up patience. */
  bytesPerSecond: 1 * MIB,
  concurrency: 16,
  maxResultBytes: 16 * MIB,
} as const;

export const RUN = {
  /** How much of each of a command's streams is kept for replay; a run that says more is not published. */
  maxLogBytes: 64 * MIB,
  /** How many earlier runs of a workspace are compared to explain a miss. */
  historyEntries: 200,
  /** A small Tree can name one folder many times over; restoring it stops here. */
  maxTreeEntries: 2_000_000,
} as const;
