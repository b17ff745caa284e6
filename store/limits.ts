// The limits of the store: sizes, counts and times.
// test/store/limits.test.ts asserts the relations between them.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const STORE = {
  // Blobs

  /** A blob up to this size is stored inside the index, a larger one in a file. */
  inlineBytes: 64 * KIB,
  /** A large blob is read, checked and sent in chunks of this size. */
  chunkBytes: 1 * MIB,
  /** Blobs from this size on are written with O_DIRECT. */
  directBytes: 32 * MIB,
  /** Small blobs are checked by SHA-256 until this many bytes were checked; then xxh64 is loaded. */
  bytesBeforeChecksum: 1 * MIB,
  /** `missing` of at most this many blobs tries the old read view first, because a refresh costs as much. */
  staleViewBlobs: 32,
  /** Buffers of chunkBytes in the pool. */
  pooledBuffers: 64,

  /** Tenants whose layers a process keeps ready. The others get new ones at their next request. */
  tenantViews: 1024,

  // Results and labels

  /** A Tree or Directory of a result is read into memory up to this size. */
  maxTreeBytes: 64 * MIB,
  /** Large Trees that are decoded at once: decoding takes several times their size. */
  concurrentTrees: 2,
  /** Results in the memo, and the largest record that it keeps. */
  memoResults: 1024,
  memoResultBytes: 4 * KIB,
  /** As long as the keys of GitHub's cache. */
  maxLabelBytes: 512,
  /** Labels without a hit, the newest first, after which a search by prefix ends. Each is a lookup. */
  deadLabels: 1000,
  /** Labels that one list has at most. */
  listedLabels: 1000,

  // Action leases

  /** A lease without a heartbeat ends after this time. Three heartbeats fit. */
  actionLeaseMs: 15 * SECOND,
  actionHeartbeatMs: 5 * SECOND,
  /** After its end a lease is remembered for so long: for a run that missed before the result came, and for a late write. */
  endedLeaseMs: 60 * MINUTE,
  /** After the start of a lease, a write without a fence does not replace the newest checkpoint for at most so long. */
  guardedLabelMs: 60 * MINUTE,

  // Uploads in parts, and staging

  /** Unfinished uploads of one store. */
  maxUploads: 4096,
  /** Unfinished uploads that a process keeps ready. The others are read again from the disk to continue. */
  readyUploads: 64,
  /** The staging file of a part is synced and recorded after this many bytes, and at the end of the part. */
  uploadSyncBytes: 16 * MIB,
  /** A staging file with an older mtime is not being written: a server cuts a stalled client long before. */
  idleUploadMs: 5 * MINUTE,
  /** An upload that gets no part for this long is removed if the store is full … */
  staleUploadMs: 60 * MINUTE,
  /** … and for this long, in any store. */
  abandonedUploadMs: 24 * 60 * MINUTE,
  /** The shortest time between two sweeps of staging, in any store and in a full one. */
  sweepMs: 10 * MINUTE,
  fullSweepMs: 1 * MINUTE,

  // Leases and the logical clock

  /** A blob that an answer reports as present stays at least this long. */
  leaseMs: 3 * 60 * MINUTE,
  /** The renewal window is leaseMs divided by this: within it, a use of the same blob writes nothing. */
  leaseWindows: 16,
  /** A tick of the logical clock is leaseMs divided by this. */
  leaseTicks: 1024,
  /** How long values of the logical clock are cached; leases last this much longer. */
  tickSlackMs: 1 * SECOND,
  /** The ticks whose beginning the index keeps. */
  keptTicks: 16_384,

  // Space and eviction

  /** Background eviction begins at this part of the limit … */
  evictFrom: 0.95,
  /** … and ends at this one. */
  evictTo: 0.9,
  /**
   * The most entries of one eviction step, in the background and in gc: large commits cost less per entry.
   */
  evictEntries: 64,
  gcEntries: 2048,
  /** After a step, background eviction pauses this many times as long as the step took. */
  evictPauseFactor: 3,
  /** The part of the limit that the index may use. Its file never shrinks, and large blobs need the rest. */
  indexShare: 0.75,
  /** The index counts as this part larger (1/8): LMDB needs free pages in a row (docs/decisions/0223). */
  indexSlack: 8,
  /** Rows that one eviction step looks at for an entry of some account. */
  scannedRows: 4096,
  /** Sets of holders for which eviction remembers how far it has looked. */
  evictionScans: 32,
  /** How long eviction does not look again after it found nothing for an account. */
  emptyScanMs: 1 * SECOND,
  /** How long a write that needs space waits for the first count of the accounts. */
  countWaitMs: 10 * SECOND,
  /** How long the usage and the limit are cached. */
  usageMs: 100,
  /** A write that sends less than this, within this time, ends if others need the space that it holds. */
  slowWriteBytes: 1 * MIB,
  slowWriteMs: 5 * SECOND,
  /** After a failed write: the shortest time between two writes that find out whether the disk works again. */
  probeWriteMs: 1 * SECOND,
  /** The default limits: a share of the disk, and for a client also a number of bytes. */
  serverShare: 0.8,
  clientShare: 0.5,
  clientBytes: 20 * GIB,
  /** The quarantine keeps at most this many files and bytes, and this part of the limit. */
  quarantineFiles: 64,
  quarantineBytes: 1 * GIB,
  quarantineShare: 0.05,

  // The index file

  /**
   * Address space that is mapped for the index. A larger index is mapped again, and the old mapping stays.
   */
  indexMapBytes: 64 * GIB,
  /** Address space that the process needs for its heap and threads. */
  addressSpaceSlack: 1 * GIB,
  /** A command that reads a whole store unmaps the index when more than this is resident. */
  mappedBytes: 192 * MIB,
  /** Processes that may have one store open. */
  maxReaders: 1024,
  /** How often a process that writes looks for the slots of readers that are dead. */
  readerCheckMs: 1 * SECOND,
  /**
   * A process that stays in one read transaction for so long is stopped. The file may grow by so much meanwhile, or
   * by an eighth.
   */
  pinnedMs: 10 * SECOND,
  pinnedBytes: 64 * MIB,
  /** Rows that are read before others get a turn of the event loop. */
  rangeEntries: 512,
  /** How often the header is read again if the index seems damaged while another process commits. */
  headerReads: 16,
  /** A server's commit waits this long for more writes: half as many syncs under load. */
  serverCommitDelayMs: 4,
  /** A disk with less than this free counts as full: no index is created, and nothing is added. */
  minFreeBytes: 1 * MIB,
  /** What a commit may write besides the content: copies of tree pages. */
  commitBytes: 64 * KIB,
  /** How long, and for how many bytes, one answer about free space is used. */
  freeSpaceMs: 100,
  freeSpaceBytes: 4 * MIB,
  /** How long one answer of the same-file check is used. */
  sameFileMs: 100,

  // The write log

  /** A file of the log gets a new part at this size. All files together have at most this many bytes. */
  logPartBytes: 64 * MIB,
  logBytes: 1 * GIB,
  /** Lines wait this long for more, or for this many, and become one write. */
  logDelayMs: 100,
  logLines: 512,
  /** Lines that wait while a write takes long. Beyond it they are lost, and counted. */
  logBufferBytes: 4 * MIB,
  /** The shortest time between two warnings. */
  logWarnMs: 1 * MINUTE,

  // The history

  /** One document. Documents that are put or removed in one commit. */
  historyDocumentBytes: 1 * MIB,
  historyBatch: 256,

  // Reviews after an incident

  /** Results that are removed at once: their removals share commits. */
  forgetBatch: 256,
  /** How often the progress is reported, in results. */
  forgetProgress: 4096,
  /** Namespaces, writers and protocols that a report lists of each. */
  forgetGroups: 1000,

  // Open files

  /** Content files that a process has open at once. Each has one or two buffers of chunkBytes. */
  openFiles: 256,
  /** How many operations may wait for an open file, and for how long. */
  openFilesWaiting: 4096,
  openFilesWaitMs: 60 * SECOND,
  /** Descriptors that are reserved for libraries, the index, logs, and folders being synced. */
  reservedDescriptors: 48,
  /** The open files get one of so many parts of the other descriptors, and at least so many. Connections have the rest. */
  descriptorParts: 3,
  leastOpenFiles: 4,

  // Copies of a whole store

  /** Blobs or results that are copied at once, and documents of the history that are read at once. */
  copiesAtOnce: 16,
  copiedDocuments: 64,
  /** Passes over a source that is being written meanwhile. */
  copyPasses: 5,

  // The scrub

  /** A scrub adds shorter pauses up: timers are no finer. */
  shortestPauseMs: 5,
  /** How often a scrub writes its journal. */
  journalMs: 1 * SECOND,
  /** The damaged blobs that the journal lists. */
  maxDamageListed: 100,
} as const;

/** How much a store does before others get a turn of the event loop. */
export const TURN = {
  /** Results that are decoded: from the index, to count holders, … */
  results: 64,
  /** … and to look up all that they refer to. */
  inspectedResults: 16,
  /** Small blobs that a scrub examines: they are in memory. */
  scrubbedBlobs: 64,
} as const;
