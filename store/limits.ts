// Every bound of the store: sizes, counts and times.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const STORE = {
  /** Blobs up to this size live inside the index, larger ones in files of their own. */
  inlineBytes: 64 * KIB,
  /** How much of a large file is read, checked and sent at a time. */
  chunkBytes: 1 * MIB,
  /** Small blobs are checked by their SHA-256 until so much of them was read or stored; then the checksum is loaded. */
  bytesBeforeChecksum: 1 * MIB,
  /** An upload in parts that nobody continues is forgotten after this long … */
  abandonedUploadMs: 24 * 60 * MINUTE,
  /** … and where the store is full, after this, before anything that is used goes. */
  staleUploadMs: 60 * MINUTE,
  /** A staged file that did not grow for this long is written by nobody: a server cuts its clients long before. */
  idleUploadMs: 5 * MINUTE,
  /** How often staging is looked through, and how often at most where the store is full. */
  sweepMs: 10 * MINUTE,
  fullSweepMs: 1 * MINUTE,
  /** How long what was named in an answer stays, at least. */
  leaseMs: 3 * 60 * MINUTE,
  /** A lease counts from the last time it was written down, which may be this share of it ago; it is as much longer. */
  leaseWindows: 16,
  /** And by ticks of this share: what was used within one is the same age. */
  leaseTicks: 1024,
  /** How exactly processes agree on the time, and how long an answer about it holds. */
  tickSlackMs: 1 * SECOND,
  /** The beginnings of this many ticks are kept: far more than a lease has. */
  keptTicks: 16_384,
  /** Of the index, this part of what it uses lies free beside it: blobs need pages in a row (docs/decisions/0223). */
  indexSlack: 8,
  /** The share of a store's limit that its index may take: its file never shrinks, and large blobs need the rest. */
  indexShare: 0.75,
  /** Where the store may fill so much of its limit, eviction begins … */
  evictFrom: 0.95,
  /** … and ends here. */
  evictTo: 0.9,
  /** Entries that are evicted in one go, and by gc: a commit of many costs each of them less … */
  evictEntries: 64,
  gcEntries: 2048,
  /** … after which others have the machine for so many times as long as it took. */
  evictPauseFactor: 3,
  /** A store that has refused a write for want of room says that it is full for this long, or until the next one is taken. */
  refusedMs: 1 * MINUTE,
  /** How long what the store was last seen to hold is good enough to go by. */
  usageMs: 100,
  /** The largest part of a disk that a server's store takes, and the most that a client's does, unless told otherwise. */
  serverShare: 0.8,
  clientShare: 0.5,
  clientBytes: 20 * GIB,
  /** Uploads in parts that are begun and not finished, on one store. */
  maxUploads: 4096,
  /** Of these, how many a process keeps ready to go on; others are read again from the disk when they do. */
  readyUploads: 64,
  /** A part's bytes are made durable this often, and at its end. */
  uploadSyncBytes: 16 * MIB,
  /** As long as the keys of the caches that have them (GitHub Actions). */
  maxLabelBytes: 512,
  /** Entries of the index that are read in one go, before others get a turn. */
  rangeEntries: 512,
  /** How many processes may read one store at the same time. */
  maxReaders: 1024,
  /** Address space for the index; it grows beyond this by itself, but then keeps its old mappings. */
  indexMapBytes: 64 * GIB,
  /** Address space that the process needs besides, for its heap and its threads. */
  addressSpaceSlack: 1 * GIB,
  /** A command that looks through a whole store has no more than this of it mapped. */
  mappedBytes: 192 * MIB,
  /** A disk with less than this free is full: no index is begun on it, and nothing is added to one. */
  minFreeBytes: 1 * MIB,
  /** How often an index that seems damaged is looked at again while another process commits to it. */
  headerReads: 16,
  /** What a change of the index may take beside the content itself: copies of the pages above it. */
  commitBytes: 64 * KIB,
  /** A look at the free space holds for this long, and for this much. */
  freeSpaceMs: 100,
  freeSpaceBytes: 4 * MIB,
  /** And so does a look at whether the index is still in its place. */
  sameFileMs: 100,
  /** How long a server's commit waits for more writes: half as many syncs under load, for a little more waiting. */
  serverCommitDelayMs: 4,
  /** So many blobs are asked about twice rather than that the index takes a fresh view first, which costs as much. */
  staleViewBlobs: 32,
  /** Results that were found right, and are kept in memory to compare with: how many, and up to which size. */
  memoResults: 1024,
  memoResultBytes: 4 * KIB,
  /** Blobs from this size on are written past the page cache. */
  directBytes: 32 * MIB,
  /** Content files that one process has open at once; each comes with a buffer or two of chunkBytes … */
  openFiles: 256,
  /** … how many more may wait for one of these places, and for how long. */
  openFilesWaiting: 4096,
  openFilesWaitMs: 60 * SECOND,
  /** What a process needs for itself of the files that it may open: libraries, the index, logs, folders being synced. */
  reservedDescriptors: 48,
  /** Should there be none left all the same, this is how often and for how long it is tried again. */
  descriptorPollMs: 20,
  descriptorWaitMs: 10 * SECOND,
  /** Buffers of chunkBytes that are kept for the next transfer. */
  pooledBuffers: 64,
  /** How much of what was found corrupt is kept for a look at it; the oldest goes first. */
  quarantineFiles: 64,
  quarantineBytes: 1 * GIB,
  /** And of the store's limit, no more than this part. */
  quarantineShare: 0.05,
  /** How often a scrub writes down how far it is, and how many damaged blobs it names. */
  journalMs: 1 * SECOND,
  maxDamageListed: 100,
  /** A Tree or Directory that a result names is read into memory to see what it names in turn. */
  maxTreeBytes: 64 * MIB,
  /** So many large ones at once, since each takes several times its size; others wait, as they do for files. */
  concurrentTrees: 2,
} as const;
