// Every bound of the client: sizes, counts and times.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const REMOTE = {
  /** How long one run waits for a silent remote in total: two seconds, less the delay of measuring. */
  silentMs: 1_900,
  /** How much of the wait budget a response, or progress of a transfer, refills. */
  movedWorthMs: 500,
  /** A slow line: the minimum rate of a response, and the rate at which buffers drain. */
  slowBytesPerSecond: 32 * KIB,
  /** How much of an upload the kernels' buffers can contain. */
  bufferedBytes: 4 * MIB,
  /** The longest time between two ticks that counts: beyond it this process was held up. */
  lateTickMs: 100,
  /** How much longer a process without CPU time may take to give up a silent remote. */
  starvedMs: 20 * SECOND,
  /** The time limit of connecting; the wait budget ends it sooner. */
  connectMs: 60 * SECOND,
  /** A download is judged after this time; a shorter one is never refused. */
  sampleMs: 1 * SECOND,
  /** How much longer than over a slow line a download may take, if the command's duration is unknown. */
  unknownWorthMs: 10 * SECOND,
  /** After the last step, uploads continue for this long, or for this share of the run. */
  uploadsMs: 10 * SECOND,
  uploadsShare: 0.1,
  /** How often that is said. */
  sendingMs: 2 * SECOND,
  /** Concurrent uploads of results. */
  uploads: 4,
  /** What could not be shared is kept for this long, and leased again when the last time is this long ago. */
  unsharedMs: 7 * 24 * 60 * MINUTE,
  leaseUnsharedMs: 60 * MINUTE,
  /** Of what the store may hold, so much is kept for that. */
  unsharedShare: 0.25,
  /** After an attempt in vain that took long, a run that has no other use for the remote leaves it alone for this long. */
  retryMs: 60 * SECOND,
  /** How often the used wait budget is counted. */
  tickMs: 50,
  /** A larger upload is resumed after a broken connection. */
  resumeBytes: 8 * MIB,
  /** The pause before resuming, in which a server may restart. */
  resumeMs: 50,
  /** How often to ask a server that still considers the broken connection open. */
  resumeAsks: 10,
  /** An upload that breaks this often without this much progress is given up. */
  fruitlessAttempts: 3,
  progressBytes: 64 * KIB,
  /** A smaller blob is sent without asking whether the remote has it. */
  askBytes: 16 * KIB,
  /** Concurrent blobs of one result. */
  concurrency: 16,
  /** Connections for all results together: a graph looks up many at once. */
  connections: 32,
  maxResultBytes: 16 * MIB,
  /** Small blobs that come along with one result, and of all results those that have not been asked for yet. */
  inlinedBlobsBytes: 256 * KIB,
  heldInlinedBytes: 16 * MIB,
  maxLabelBytes: 64 * KIB,
} as const;

export const GRPC_REMOTE = {
  /** The flow-control window: enough for a fast line over some distance. */
  windowBytes: 8 * MIB,
  /** The memory of one connection: all concurrent batches, twice. */
  sessionMegabytes: 128,
  /** The largest accepted message: a batch, or a piece of a stream. */
  maxMessageBytes: 32 * MIB,
  /** The message limit of most gRPC servers, less space for names; a server may announce less. */
  batchBytes: 4 * MIB - 256 * KIB,
  /** Blobs up to this size travel in batches, larger ones in a stream each. */
  batchedBlobBytes: 512 * KIB,
  /** Digests in one FindMissingBlobs request, and blobs in one batch. */
  batchEntries: 1000,
  /** The size of one message of a stream. */
  pieceBytes: 1 * MIB,
  /** The pauses between status queries after a broken connection. */
  statusPausesMs: [25, 75, 150],
  /** How many empty messages a blob's stream may contain. */
  emptyMessages: 16,
} as const;

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

export const BAZEL = {
  /** A request names every input of an action: some hundred bytes for each. */
  maxRequestBytes: 256 * MIB,
  /** The longest output of a tool: the response is one message, which Bazel shows to a person. */
  maxOutputBytes: 16 * MIB,
} as const;

export const CHECKPOINT = {
  /** How often the request folder is polled. */
  requestPollMs: 50,
  /** How often sealing is tried if the folders change meanwhile. */
  attempts: 3,
  /** `assay checkpoint` waits this long at most. */
  waitMs: 30 * MINUTE,
} as const;

export const STATE = {
  /** How many ancestor commits are searched for state; all of them are in one request to a remote. */
  ancestors: 64,
  /** The time limit of git; afterwards the newest state is used. */
  gitMs: 10 * SECOND,
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
  logBufferBytes: MIB,
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
  contentCacheBytes: 16 * MIB,
  /** Logs up to this size travel inside the result. */
  inlineLogBytes: 16 * KIB,
  /** How many earlier runs are remembered to explain a miss. */
  historyEntries: 5000,
  /** The file that remembers them is shortened beyond this. */
  historyBytes: 4 * MIB,
} as const;

export const GRAPH = {
  /** Up to here a run whose steps are all in place is over before compiling any of it has paid. */
  fewSteps: 20,
  /** How often the live view is drawn. */
  drawMs: 100,
  /** How much that is said at once is gathered before it is written. */
  streamBufferBytes: 64 * KIB,
  /** Most commands that run side by side, whatever the machine. */
  maxJobs: 1024,
  /** Steps beyond those that look for results meanwhile, fetch them and put outputs in place. */
  ahead: 32,
  /** A step that has waited this long for its turn to run looks at its inputs again. */
  lateMs: 1 * SECOND,
  /** Of what a step did beyond its declaration, where it may not do anything beyond it. */
  findingsShown: 20,
  /** How long changes may keep coming before a watched graph runs again. */
  watchSettleMs: 100,
  /** Paths that changed while a watched graph ran; what comes beyond that is not looked at. */
  watchedChanges: 100_000,
  /** The file that remembers runs for `assay stats` is shortened beyond this. */
  statsBytes: 8 * MIB,
} as const;

export const OBSERVED = {
  /** Path sets under one key, before what they share leads on to another. */
  slots: 8,
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

export const DOCTOR = {
  /** With less than this free a store will be full soon. */
  roomyBytes: 2 * GIB,
  /** How far a file's time may be from the clock. */
  skewMs: 3 * SECOND,
  /** The first of January 2026: no clock that is right says less. */
  earliest: 1_767_225_600_000,
  slowRemoteMs: 300,
} as const;
