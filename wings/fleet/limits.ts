// The limits of a fleet: sizes, counts and times. engine/aws/ and engine/s3/ have their own.
// Bounds of every store, such as the lease and the shares of eviction, are in store/limits.ts.
import { KIB, MIB, MINUTE, SECOND } from '../../core/units.ts';

export const FLEET = {
  /** A blob up to this size is stored in its row, a larger one in the bucket. */
  inlineBytes: 16 * KIB,
  /** An upload in parts is cut into objects of at most this size. A crash costs one of them. */
  segmentBytes: 64 * MIB,
  /** A finished upload whose objects are smaller than this on average is written again, as one object. */
  minSegmentBytes: 8 * MIB,
  /** Unfinished uploads of a fleet. From STORE.evictFrom of it on, the janitor leaves half of it. */
  maxUploads: 65_536,
  /** Connections of a node to PostgreSQL. */
  indexConnections: 16,
  /** A connection, and an answer, may take this long. Then PostgreSQL counts as away. */
  indexConnectMs: 5 * SECOND,
  indexAnswerMs: 10 * SECOND,
  /** Statements that wait for a connection, and how long. A node that is this slow is busy with other requests. */
  indexQueue: 16_384,
  indexQueueMs: 60 * SECOND,
  /** A statement that would wait longer than this is refused at once: its client would give up first. */
  indexShedMs: 15 * SECOND,
  /** How often a node tries to reach a PostgreSQL, or a bucket, that is away. */
  probeMs: 500,
  /** How long, and of how many blobs and results, a node remembers that it has acknowledged them. */
  acknowledgedMs: 1 * MINUTE,
  acknowledgedPuts: 16_384,
  /** How often a statement is repeated that PostgreSQL ended because of a deadlock. */
  statementAttempts: 4,
  /** How long, and for how many blobs, a node remembers that a blob is present. */
  presenceMemoMs: 30 * SECOND,
  presenceMemoBlobs: 262_144,
  /** How long the presence that came with a result is used: for the check of that same result. */
  seenMs: 1 * SECOND,
  /** An object is deleted this long after nothing refers to it any more. */
  condemnedMs: 60 * MINUTE,
  /** An object whose node has not confirmed the upload for this long is condemned. */
  idleObjectMs: 15 * MINUTE,
  /** A listed object of this age that no row names is an orphan. */
  orphanMs: 24 * 60 * MINUTE,
  /** A pass over the bucket that finds more orphans than this, and than this share of its objects, deletes none. */
  maxOrphans: 1000,
  maxOrphanShare: 0.1,
  /** Pages of the bucket's listing in which the first node of a fleet looks for objects of Assay. */
  identifyPages: 100,
  /** An alarm is logged again after so many rounds. */
  alarmRounds: 60,
  /** How often a node looks for work of the janitor, and for how many rows at once. */
  janitorMs: 1 * MINUTE,
  janitorRows: 1000,
  /** Entries that the janitor of a fleet looks at, for one of some account, in one statement. */
  scannedEntries: 20_000,
  /** If it finds nothing for so long, it does not look again for that account for so many times as long. */
  longPassMs: 1 * SECOND,
  passPauseFactor: 10,
  /** How long it looks at labels that lead to results, in search of others, before it evicts. */
  deadLabelsMs: 2 * SECOND,
  /** How often the janitor counts what the fleet holds, and the other nodes read it. */
  figuresMs: 10 * SECOND,
  /** Rows that are added up at once, and how often all are counted anew. */
  countedRows: 50_000,
  countAnewMs: 24 * 60 * MINUTE,
  /** A fleet refuses writes when it holds so many times its limit. */
  refuseFrom: 1.1,
  /** PostgreSQL ends the session of a janitor that sends nothing for so long. Then another node is elected. */
  electionIdleMs: 30 * SECOND,
  /** Condemned objects are counted up to this number, and nothing waits for the count longer than this. */
  countedObjects: 1_000_000,
  countCondemnedMs: 1 * SECOND,
  /** How often a node looks whether the tables still fit it. */
  versionMs: 10 * SECOND,
  /** A missing object is asked for again after this long, before its blob counts as lost. */
  lostAfterMs: 1 * MINUTE,
  /** Missing objects that a node remembers for that, and those with wrong bytes. */
  maxSuspects: 10_000,
  /** Wrong bytes that no other node has looked at for so long are looked at by the same one again. */
  aloneMs: 15 * MINUTE,
  /** Objects of one blob that a put asks the bucket for at once. */
  objectChecks: 8,
  /** How often an object's bytes are asked for again from where they stopped. */
  objectAttempts: 3,

  /** Of a blob that several read at once, so many chunks stay in memory for those behind the first. */
  sharedChunks: 8,
  /** A reader that needs a chunk for longer than this leaves the others. */
  slowReaderMs: 1 * SECOND,
  /** Copies for the tier that wait in memory. A tier that takes nothing for so long is left out of a read. */
  tierBacklogBytes: 128 * MIB,
  tierStallMs: 10 * SECOND,
  /** The lease of copies in a tier. They need none, but each use within a window of it writes nothing. */
  tierLeaseMs: 16 * SECOND,
  /** A bucket that answers later than this does not delay the start. */
  bucketCheckMs: 5 * SECOND,
  /** How long an answer about the parts of a fleet is used, and how long a part may take to answer. */
  partsMs: 1 * SECOND,
  partsWaitMs: 3 * SECOND,
  /** Labels that are read at once: most callers take the first. Of a namespace, so many of the newest are looked at first. */
  labelRows: 16,
  newestLabels: 1000,
  /** Rows that are read at once to count what accounts hold. */
  walkedRows: 64,
  /** Epochs of other databases that a database has taken over, and remembers. */
  supersededEpochs: 16,
} as const;
