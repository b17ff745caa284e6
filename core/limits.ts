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
  evictRest: 3,
  /** A store that has refused a write for want of room says that it is full for this long, or until the next one is taken. */
  refusingMs: 1 * MINUTE,
  /** How long what the store was last seen to hold is good enough to go by. */
  usedMs: 100,
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
  spareBytes: 1 * MIB,
  /** How often an index that seems damaged is looked at again while another process commits to it. */
  headerLooks: 16,
  /** What a change of the index may take beside the content itself: copies of the pages above it. */
  commitBytes: 64 * KIB,
  /** A look at the free space holds for this long, and for this much. */
  roomMs: 100,
  roomBytes: 4 * MIB,
  /** And so does a look at whether the index is still in its place. */
  anchorMs: 100,
  /** How long a server's commit waits for more writes: half as many syncs under load, for a little more waiting. */
  serverGatherMs: 4,
  /** So many blobs are asked about twice rather than that the index takes a fresh view first, which costs as much. */
  fewBlobs: 32,
  /** Results that were found right, and are kept in memory to compare with: how many, and up to which size. */
  seenResults: 1024,
  seenResultBytes: 4 * KIB,
  /** Blobs from this size on are written past the page cache. */
  directBytes: 32 * MIB,
  /** Content files that one process has open at once; each comes with a buffer or two of chunkBytes … */
  openFiles: 256,
  /** … how many more may wait for one of these places, and for how long. */
  openFilesWaiting: 4096,
  openFilesWaitMs: 60 * SECOND,
  /** What a process needs for itself of the files that it may open: libraries, the index, logs, folders being synced. */
  ownDescriptors: 48,
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
  damageShown: 100,
  /** A Tree or Directory that a result names is read into memory to see what it names in turn. */
  maxTreeBytes: 64 * MIB,
  /** So many large ones at once, since each takes several times its size; others wait, as they do for files. */
  treesAtOnce: 2,
} as const;

export const MESSAGE = {
  /** Fields of one message at all depths: about ten for each of 100,000 files. */
  maxFields: 1_000_000,
} as const;

export const SERVER = {
  maxBlobBytes: 16 * GIB,
  maxResultBytes: 16 * MIB,
  maxHeaderBytes: 16 * KIB,
  /** One gRPC message: a result of maxResultBytes with its address. */
  maxGrpcMessageBytes: 17 * MIB,
  /** All blobs of one batch: gRPC clients take 4 MiB by default, and something is left for what frames the blobs. */
  maxBatchBytes: 4 * MIB - 256 * KIB,
  /** The same as a number of blobs, for those that weigh nothing. */
  maxBatchBlobs: 65_536,
  /** A blob that is put together from parts is at most so many times as large as its distinct parts … */
  maxAssemblyRatio: 64,
  /** … so many are put together at once, and so many more wait, for so long. */
  assembliesAtOnce: 2,
  assembliesWaiting: 256,
  assemblyWaitMs: 60 * SECOND,
  /** Content that a result may carry inside, where a client asks for it. */
  maxInlineBytes: 1 * MIB,
  /** Calls at a time on one gRPC connection; Bazel makes up to 100. */
  maxStreams: 128,
  /** What one gRPC connection may send before it is told to go on: several uploads at full speed. */
  connectionWindowBytes: 8 * MIB,
  /** A message of an upload fits into one frame: HTTP/2's default of 16 KiB cuts each of Bazel's in two. */
  maxFrameBytes: 256 * KIB,
  /** Beyond this a gRPC connection gets no new calls. */
  sessionMegabytes: 64,
  /** A gRPC connection without a call is closed after this; its client opens another one when it needs it. */
  idleSessionMs: 5 * MINUTE,
  /**
   * A client that keeps the server waiting and moves nothing for this long is cut, in either direction. A header, a TLS handshake
   * and the first call of a gRPC connection must be whole within it. As long as nginx waits.
   */
  noProgressMs: 60 * SECOND,
  /** Under pressure it must move so many bytes within so long. */
  pressedNoProgressMs: 5 * SECOND,
  progressBytes: 16 * KIB,
  /** Pressure: more than this share of all connections, or of heldBytes or lentBytes, is in use, or bodies wait for a place. */
  pressedConnections: 0.8,
  pressedBytes: 0.5,
  /** Requests that a client may have sent on one HTTP connection before it has the answers to those before. */
  maxPipelined: 128,
  /** Idle between two requests on one connection. */
  keepAliveMs: 75 * SECOND,
  /** How often each connection and body is looked at for the limits above … */
  sweepMs: 200,
  /** … and in a crowd, how often the next few are. */
  crowdSweepMs: 10,
  /** How much of an upload is taken from the network before the store has asked for it. */
  uploadBufferBytes: 1 * MIB,
  /** Downloads that have a chunk of a large blob in memory at once; others wait for their turn. */
  maxDownloads: 20,
  /** How long a request waits for its turn, or for a place, before it is refused. */
  turnWaitMs: 60 * SECOND,
  /** So many of them read theirs at once: what has been read is checked in one go, while others wait. */
  maxReads: 2,
  /** Who keeps up, while nobody waits for a turn, has so many chunks read in one go. */
  chunksAtOnce: 2,
  /** Large blobs that are compressed at once for HTTP clients, and the least that is worth it. */
  maxCompressions: 8,
  minCompressedBytes: 1 * KIB,
  /** What kernels may hold of an answer that nobody reads. */
  unreadBytes: 8 * MIB,
  /** What is written in one go to a client that has not shown yet that it reads, and to anybody while others wait. Whole copies. */
  slicedBytes: 256 * KIB,
  /** So many of them send straight from their chunk, which stays until the client has it; others send copies … */
  lentChunks: 16,
  /** … of this size … */
  copiedBytes: 32 * KIB,
  /** … and let go of their chunk when one is not taken within this. */
  promptMs: 20,
  /** After a refusal, the rest of a large body is thrown away for this long, so that the client can read the answer. */
  lingerMs: 2 * SECOND,
  /** Tools that fail on a body which breaks off get one up to this size only after it has been read and checked. */
  readFirstBytes: 4 * GIB,
  /** A message of a tool's own protocol: events, questions about many keys. */
  maxMessageBytes: 1 * MIB,
  /** Beginnings of keys that one lookup may try; GitHub's own client sends at most 9. */
  maxRestoreKeys: 100,
  /** How long a signed address is good for an upload or a download: the largest may take this long to begin. */
  ticketMs: 60 * MINUTE,
  /** A job that has reserved an entry of GitHub’s cache and sends nothing keeps others from it this long … */
  reservationMs: 2 * MINUTE,
  /** … and so many entries may be reserved at once. */
  maxReservations: 10_000,
  /** How far the clock of a client that signs its requests may be from ours. */
  signatureSkewMs: 15 * MINUTE,
  /** Between two comparisons of the store's index with its folder. */
  reconcilePauseMs: 24 * 60 * MINUTE,
  /** Between two looks at the files that hold the certificate. */
  renewalMs: 1 * MINUTE,
  /** From so many connections on, V8's heap is kept small. */
  crowd: 256,
  /** A crowd that comes and goes has the heap tidied up no more often than this. */
  tidyMs: 60 * SECOND,
  /** Fewer where the process may open fewer files. */
  maxConnections: 4096,
  /** Beyond those, so many are let in to be told that there is no place; further ones are closed without a word. */
  surplusConnections: 16,
  /** Large bodies on their way in at once, each with a buffer or two of a chunk; more wait. */
  maxBodies: 256,
  /** Bodies that are held in memory as a whole, of all connections together. */
  heldBytes: 512 * MIB,
  /** The same for answers that are larger than a small blob, until their clients have taken them. */
  lentBytes: 512 * MIB,
  /** Small blobs that are sent along with one result. */
  companyBytes: 256 * KIB,
  /** When a client that was turned away may come back. */
  retryAfterSeconds: 1,
  /** The same where the store is full: as leases end, room comes back. */
  fullRetryAfterSeconds: 60,
  /** Between two looks through the whole store, and after one that failed. */
  scrubPauseMs: 24 * 60 * MINUTE,
  scrubRetryMs: 5 * MINUTE,
  /** How long a stop waits for transfers in flight … */
  drainMs: 10 * SECOND,
  /** … looking this often for connections that have become idle … */
  idleReapMs: 50,
  /** … and then for the store to discard what was cut. */
  discardMs: 5 * SECOND,
} as const;

export type ServerLimits = Readonly<Record<keyof typeof SERVER, number>>;

export const ZSTD = {
  /** The fastest that still compresses: the server's processor is shared by everybody. */
  level: 1,
  /** 8 MiB, as much as any level up to 19 uses; a frame may ask for 2 GiB. */
  maxWindowLog: 23,
  pieceBytes: 256 * KIB,
  /** So much may come out of anything, since files full of zeros are common … */
  unjudgedBytes: 256 * MIB,
  /** … and beyond that, so many bytes for each that was sent. A larger ratio is most likely an attack. */
  maxRatio: 1000,
  /** So much is inflated at first, and then as much as before each time, so that it is judged before much has come out. */
  firstBytes: 4 * KIB,
} as const;

export const REMOTE = {
  /** All the silence of a remote that one run waits for: two seconds, less what is measured too late. */
  silentMs: 1_900,
  /** What an answer pays off, or a piece of a transfer: one that comes this often is no silence. */
  movedWorthMs: 500,
  /** A slow line: what a message comes with, at least, and what buffers are drained with. */
  slowBytesPerSecond: 32 * KIB,
  /** What kernels hold of an upload, at most, after it was sent. */
  bufferedBytes: 4 * MIB,
  /** Of the time between two ticks no more than this counts: beyond it this process was held up. */
  lateTickMs: 100,
  /** How long a process that starves may take longer to give a silent remote up. */
  starvedMs: 20 * SECOND,
  /** A connection has so long to be made; the silence ends it sooner. */
  connectMs: 60 * SECOND,
  /** A download is judged by what it has shown in this time, and none that takes less is refused. */
  sampleMs: 1 * SECOND,
  /** What a download may take beyond the time over a slow line, where nobody knows what it saves. */
  unknownWorthMs: 10 * SECOND,
  /** After the last step, uploads go on for so long, or for this share of the run. */
  uploadsMs: 10 * SECOND,
  uploadsShare: 0.1,
  /** How often that is said. */
  sendingMs: 2 * SECOND,
  /** Results that are sent at once. */
  uploads: 4,
  /** What could not be shared is kept for this long, and leased again when the last time is this long ago. */
  unsharedMs: 7 * 24 * 60 * MINUTE,
  leaseUnsharedMs: 60 * MINUTE,
  /** Of what the store may hold, so much is kept for that. */
  unsharedShare: 0.25,
  /** After an attempt in vain that took long, a run that has no other use for the remote leaves it alone for this long. */
  retryMs: 60 * SECOND,
  /** How often the debt is counted while something is under way. */
  tickMs: 50,
  /** Above this an upload that breaks off is resumed … */
  resumeBytes: 8 * MIB,
  /** … after a moment, in which a server may be started anew. */
  resumeMs: 50,
  /** How often a server is asked that still takes the broken connection for a whole one. */
  resumeAsks: 10,
  /** An upload that breaks this often in a row without getting further by so much is given up. */
  fruitlessAttempts: 3,
  progressBytes: 64 * KIB,
  /** Below this a blob is sent without asking whether it is there. */
  askBytes: 16 * KIB,
  /** Blobs of one result at once. */
  concurrency: 16,
  /** For all results together: a graph looks for as many at once. */
  connections: 32,
  maxResultBytes: 16 * MIB,
  /** Small blobs that come along with one result, and of all results those that have not been asked for yet. */
  companyBytes: 256 * KIB,
  heldCompanyBytes: 16 * MIB,
  maxLabelBytes: 64 * KIB,
} as const;

export const GRPC_REMOTE = {
  /** What arrives before it is asked for: enough for a fast line over some distance. */
  windowBytes: 8 * MIB,
  /** All that waits to be sent on one connection: as many batches as travel at once, and as much again. */
  sessionMegabytes: 128,
  /** The largest message that is taken: a batch, or a piece of a stream. */
  maxMessageBytes: 32 * MIB,
  /** What most gRPC servers take in one message, less some room for the names in it; a server may say less. */
  batchBytes: 4 * MIB - 256 * KIB,
  /** Blobs up to this size travel in batches, larger ones in streams of their own. */
  batchedBlobBytes: 512 * KIB,
  /** Digests in one question, and blobs in one batch. */
  batchEntries: 1000,
  /** How much of a stream goes into one message. */
  pieceBytes: 1 * MIB,
  /** After a break, between the questions how far a server got. */
  statusPausesMs: [25, 75, 150],
  /** A stream of a blob may hold so many messages with nothing in them. */
  emptyMessages: 16,
} as const;

export const GOCACHE = {
  /** A request without its body is a few hundred bytes. */
  maxLineBytes: 64 * KIB,
  /** Requests that are worked on at the same time; the go command waits with the others. */
  underWay: 64,
  /** Results that wait to be shared; what comes beyond is kept here only. */
  maxUploads: 10_000,
  /** Files that no build has asked for in this long are removed, as the go command does with its own … */
  unusedFileMs: 5 * 24 * 60 * MINUTE,
  /** … and a use is noted, and the remains are looked for, this often. */
  noteUseMs: 24 * 60 * MINUTE,
} as const;

export const BAZEL = {
  /** A request names every input of an action: some hundred bytes for each. */
  maxRequestBytes: 256 * MIB,
  /** What a tool says comes back in one message, which Bazel shows to a person. */
  maxSaidBytes: 16 * MIB,
} as const;

export const CHECKPOINT = {
  /** How often a running step is looked at for a checkpoint that it asks for. */
  deskMs: 50,
  /** Folders that change while they are sealed are tried so often before the next turn. */
  attempts: 3,
  /** `assay checkpoint` waits this long at most. */
  waitMs: 30 * MINUTE,
} as const;

export const STATE = {
  /** How far back a step's state is looked for by commit; all of them go into one request of a remote. */
  ancestors: 64,
  /** git answers within this time, or the newest state is taken. */
  gitMs: 10 * SECOND,
} as const;

export const SMALL_HASH = {
  /** Up to this much in all is hashed without OpenSSL; beyond it, loading OpenSSL costs less than doing without. */
  totalBytes: 32 * KIB,
} as const;

export const INDEX = {
  /** Coarser than the tick of any Linux kernel's file times (10 ms at HZ=100). */
  granularityMs: 20,
  /** The same for file systems that keep whole seconds, or every other one (vfat). */
  coarseGranularityMs: 3 * SECOND,
  maxEntries: 1_000_000,
} as const;

export const RUN = {
  /** How much of each of a command's streams is kept for replay; a run that says more is not published. */
  maxLogBytes: 64 * MIB,
  /** A stream that is longer than this gets room for the longest at once, of which only what is written takes memory. */
  logRoomBytes: MIB,
  /** How long the streams of a command that has ended may stay open, held by a process that it left behind. */
  streamsCloseMs: 2 * SECOND,
  /** How long git may take to say whether it tracks something. */
  gitMs: 5 * SECOND,
  /** How long a command that a killed run left behind may take to end. */
  orphanEndsMs: 2 * SECOND,
  /** How often a run looks whether another one is done with its outputs. */
  lockPollMs: 25,
  /** How often a run shows that it still works on its outputs, and when one that does not is taken for ended. */
  lockBeatMs: 2 * SECOND,
  lockStaleMs: 20 * SECOND,
  /** The same for one whose process can be seen to live: it may be stopped, or busy for long. */
  lockSilentMs: 10 * MINUTE,
  /** What a process of another container left in a workspace is taken for abandoned after this long. */
  foreignStagingMs: 24 * 60 * MINUTE,
  /** How long a pipe that is full is left alone before it is tried again. */
  fullPipeMs: 2,
  /** Small blobs that are put into the local store at once. At most 64 KiB each, so they are 16 MiB. */
  smallPutsAtOnce: 256,
  /** Of the outputs of one run, how much is kept from their sealing to their storing. */
  keptContentBytes: 16 * MIB,
  /** Logs up to this size travel inside the result. */
  inlineLogBytes: 16 * KIB,
  /** How many earlier runs are remembered to explain a miss. */
  historyEntries: 5000,
  /** The file that remembers them is shortened beyond this. */
  historyBytes: 4 * MIB,
  /** A small Tree can name one folder many times over; restoring it stops here. */
  maxTreeEntries: 2_000_000,
  /** The same for the characters of all its paths together. */
  maxTreePathLength: 256 * MIB,
} as const;

export const GRAPH = {
  /** Up to here a run whose steps are all in place is over before compiling any of it has paid. */
  fewSteps: 20,
  /** How often the live view is drawn. */
  drawMs: 100,
  /** How much that is said at once is gathered before it is written. */
  gatherBytes: 64 * KIB,
  /** Most commands that run side by side, whatever the machine. */
  maxJobs: 1024,
  /** Steps beyond those that look for results meanwhile, fetch them and put outputs in place. */
  ahead: 32,
  /** A step that has waited this long for its turn to run looks at its inputs again. */
  lateMs: 1 * SECOND,
  /** Of what a step did beyond its declaration, where it may not do anything beyond it. */
  findingsTold: 20,
  /** How long changes may keep coming before a watched graph runs again. */
  watchSettleMs: 100,
  /** Paths that changed while a watched graph ran; what comes beyond that is not looked at. */
  watchedChanges: 100_000,
  /** The file that remembers runs for `assay stats` is shortened beyond this. */
  statsBytes: 8 * MIB,
} as const;

export const OBSERVED = {
  /** Path sets under one key, before what they share leads on to another. */
  places: 8,
  /** How often it leads on, before a lookup gives up. */
  steps: 32,
  /** The largest path set that is read. */
  maxSetBytes: 64 * MIB,
  /** The same for one of a remote, and how many paths it may name: each is looked at before the command may run. */
  maxForeignSetBytes: 4 * MIB,
  maxForeignPaths: 20_000,
  /** How long one lookup may look at what the path sets of a remote name. */
  foreignLookMs: 10 * SECOND,
  /** Findings that are told in a result. */
  findings: 100,
  /** What an action may leave that no output names, for its result to be kept: each hit looks at all of it. */
  leftPaths: 1_000,
} as const;

export const HERMETICITY = {
  /** How long processes that outlive a traced command may go on before they are ended. */
  lingerMs: 2 * SECOND,
  /** How long a tracer may take to show that it works here. */
  trialMs: 10 * SECOND,
  /** More different accesses than this are not kept: the trace is then incomplete. */
  maxAccesses: 2_000_000,
  /** The longest path a tracer keeps. */
  maxPathBytes: 16 * KIB,
} as const;

export const REPRODUCE = {
  /** How long the clock that a run is shown stands still, at least. */
  holdMs: 30 * SECOND,
  /** How long one run may take, at least … */
  runMs: 2 * MINUTE,
  /** … or, where its clocks stand still and it may wait in vain … */
  frozenRunMs: 15 * SECOND,
  /** … and how many times longer than the command takes by itself, since every question that it asks is answered by hand. */
  slowness: 20,
  /** How much of what a run says is compared. */
  heardBytes: 1 * MIB,
  /** A copy of more than this is not made. */
  copyBytes: 8 * GIB,
} as const;

export const DOCTOR = {
  /** With less than this free a store will be full soon. */
  roomyBytes: 2 * GIB,
  /** How far a file's time may be from the clock. */
  skewMs: 3 * SECOND,
  /** The first of January 2026: no clock that is right says less. */
  earliest: 1_767_225_600_000,
  slowRemoteMs: 300,
} as const;
