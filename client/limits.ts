// Every limit of the client: sizes, counts and times.
import { KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

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
  /** How often the client reports those uploads. */
  sendingMs: 2 * SECOND,
  /** Concurrent uploads of results. */
  uploads: 4,
  /** How long a result that could not be uploaded is kept, and how often its lease is renewed. */
  unsharedMs: 7 * 24 * 60 * MINUTE,
  leaseUnsharedMs: 60 * MINUTE,
  /** A larger list of results that were made without a remote is shortened. One takes about 1 KB. */
  madeHereBytes: 16 * MIB,
  /** How many hits the first run with a new remote sends along. */
  sentAlong: 1_000,
  /** The share of the store's size limit for such results. */
  unsharedShare: 0.25,
  /**
   * After a slow failed attempt, old uploads are not retried for this long, unless the run uses the remote.
   */
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
  /** All such blobs that go with their result in one request: many proxies take 1 MiB. */
  publishedBytes: 512 * KIB,
  publishedBlobs: 500,
  /** Concurrent blobs of one result. */
  concurrency: 16,
  /** Connections for all results together: a graph looks up many at once. */
  connections: 32,
  maxResultBytes: 16 * MIB,
  /** Inlined blobs of one result, and inlined blobs of all results that no restore has used yet. */
  inlinedBlobsBytes: 256 * KIB,
  heldInlinedBytes: 16 * MIB,
  /** After this many more wrong predictions than right ones, a client asks for none. */
  wrongPredictions: 8,
  maxLabelBytes: 64 * KIB,
  /** The longest list of labels: 1,000 of them. */
  maxLabelListBytes: 2 * MIB,
  /** After this many failures in a row, `assay verify` does not ask the remote for whole blobs again. */
  healingFaults: 3,
} as const;

/** What the history keeps for `assay explain`, and how much of it is shown at once. */
export const HISTORY = {
  keptDifferences: 5000,
  shownDifferences: 20,
  /** Earlier keys of a step that are tried for the paths that it read. */
  triedKeys: 10,
  /** Earlier actions that are compared in full if none is of the same step. */
  comparedActions: 10,
  /** Of a reason in the file of graph runs, and of a command in the list of steps. */
  longestReason: 1000,
  longestCommand: 60,
} as const;

/** What an Assay server tells of the earlier action of a step. */
export const EARLIER = {
  /** Of its message. */
  maxBytes: 256 * KIB,
  /** Directory messages that a comparison fetches, the largest one, and how long it may take. */
  fetchedDirectories: 256,
  maxDirectoryBytes: 4 * MIB,
  waitMs: 2 * SECOND,
} as const;

/** Reports of runs to an Assay server. */
export const REPORT = {
  /** How long the end of a run waits for the server: this, and this share of the run's duration, at most that. */
  waitMs: 1 * SECOND,
  waitShare: 0.02,
  maxWaitMs: 2 * SECOND,
  /** An answer about a run that a person asked for. */
  askedMs: 15 * SECOND,
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

export const INDEX = {
  /** Coarser than the tick of any Linux kernel's file times (10 ms at HZ=100). */
  granularityMs: 20,
  /** The same for file systems that keep whole seconds, or every other one (vfat). */
  coarseGranularityMs: 3 * SECOND,
  /** A file of at least this size is read when its stats are settled. */
  settleBytes: 32 * MIB,
  /** The workspaces of a store share the digests of files outside of them that are at least this large. */
  programBytes: 4 * MIB,
  maxEntries: 1_000_000,
} as const;

export const RUN = {
  /** The largest N of --retry. */
  maxRetries: 20,
  /** How much of each stream of a command is kept for replay; a run with more output is not published. */
  maxLogBytes: 64 * MIB,
  /** A longer stream gets a buffer of maxLogBytes at once. Only its written pages take memory. */
  logBufferBytes: MIB,
  /** In how many places of a stream the workspace's path becomes a placeholder. More are kept as they are. */
  logPlaces: 64 * KIB,
  /** How long a process that a command left behind may keep the command's streams open. */
  streamsCloseMs: 2 * SECOND,
  /** The time limit of git for the question whether it tracks a path. */
  gitMs: 5 * SECOND,
  /** The longest list of tracked files that is read: some million names. */
  maxGitBytes: 256 * MIB,
  /** A larger file of packed references is not read for a receipt. */
  maxPackedRefsBytes: 8 * MIB,
  /** How long a killed run's command may take to end, and the age at which a lock's guard is stale. */
  orphanEndsMs: 2 * SECOND,
  /** How often a run that waits for the lock on its outputs polls it. */
  lockPollMs: 25,
  /** How often a run renews the mtime of its lock, and the age at which a lock is stale. */
  lockBeatMs: 2 * SECOND,
  lockStaleMs: 20 * SECOND,
  /** The age at which a lock is stale if its process runs: the process may be stopped, or busy for long. */
  lockSilentMs: 10 * MINUTE,
  /** The age at which staging files of a process in another container count as abandoned. */
  foreignStagingMs: 24 * 60 * MINUTE,
  /** The pause before the next write to a full pipe. */
  fullPipeMs: 2,
  /** Concurrent writes of small blobs to the local store: at 64 KiB each, 16 MiB at most. */
  smallPutsAtOnce: 256,
  /** How much of one run's outputs stays in memory between sealing and storing. */
  contentCacheBytes: 16 * MIB,
  /** Logs up to this size travel inside the result. */
  inlineLogBytes: 16 * KIB,
  /** How many earlier runs the history keeps to explain a miss. */
  historyEntries: 5000,
  /** A larger history file is shortened. */
  historyBytes: 4 * MIB,
  /** Names that are tried for a staging folder. */
  stagingNames: 1000,
} as const;

export const LEASE = {
  /** A command that takes longer asks for the lease of its action. */
  longMs: 2 * SECOND,
} as const;

/** The answers of `--json=short`. */
export const SHORT = {
  /** Of one answer, with its line feed: less than 2 KiB. */
  bytes: 2_000,
  /** How many items of each list are tried, from the first to the last number. */
  items: [12, 8, 5, 3, 2, 1],
  /** The longest text, as JSON: without items, and how much longer it may be for each item. */
  leastText: 40,
  textPerItem: 20,
  /** More of a text is never read. */
  readOfText: 4 * KIB,
  /** A short answer keeps this much of a running step's log, at either end. */
  logBytes: 128 * KIB,
  /** Of a run: failures whose first lines are looked for, warnings, receipts, and the named steps of a reason. */
  failures: 12,
  warnings: 20,
  receipts: 3,
  namedSteps: 3,
  /** The lines of one failure. */
  lines: 6,
  keyDigits: 16,
} as const;

/** Failures that --cache-failures=local keeps. */
export const FAILURES = {
  keptMs: 24 * 60 * MINUTE,
  /** With more notes than this, the next one removes all others. */
  most: 10_000,
  /** What `timeout` ends with, and the smallest exit code of a shell for a signal. */
  timeout: 124,
  leastSignal: 128,
} as const;

export const GRAPH = {
  /** A graph with more steps makes Bun compile at once. A shorter run ends before that pays off. */
  fewSteps: 20,
  /** How often the live view is drawn. */
  drawMs: 100,
  /** The size of the output buffer; a full buffer is written at once. */
  streamBufferBytes: 64 * KIB,
  /** The largest number of concurrent commands on any machine. */
  maxJobs: 1024,
  /** Further steps that look up and restore results meanwhile. */
  ahead: 32,
  /** A step that waited longer for a job slot reads its inputs again. */
  lateMs: 1 * SECOND,
  /**
   * How much longer a run may take to check and record the steps that it executed, and those that it restored: this, or a
   * share of its time. A run waits for files that are too young only if it executed and took recordMs, or if the wait
   * is within the share.
   */
  recordMs: 1 * SECOND,
  recordRestoredMs: 200,
  recordShare: 0.2,
  /** The outputs of a restored step that are read again. Larger ones are left to the next run. */
  recordBytes: 32 * MIB,
  /** How many undeclared accesses of a strict step are shown one by one. */
  findingsShown: 20,
  /** The pause between the first change and the next run of a watched graph. */
  watchSettleMs: 100,
  /** How many changed paths are kept while a watched graph runs; further ones are ignored. */
  watchedChanges: 100_000,
  /** A larger file of runs for `assay stats` is shortened. */
  statsBytes: 8 * MIB,
} as const;

/** Job slots that all runs of a user share. */
export const JOBS = {
  /** A run that has had no slot for this long goes on with one command at a time. */
  patienceMs: 30 * SECOND,
  /** So many times as long if one of its commands runs: it may never end, as a server. */
  patienceOfHolder: 10,
  /** How often a run that waits looks whether it should go on waiting. */
  lookMs: 50,
  /** A step that waited this long tells it, and so does a run that has no slot at all. */
  toldMs: 100,
  announcedMs: 1 * SECOND,
} as const;

export const OBSERVED = {
  /** Path sets under one key. Beyond them, the state of their common paths selects the next key. */
  slots: 8,
  /** How many such keys a lookup follows. */
  steps: 32,
  /** The largest path set that is read. */
  maxSetBytes: 64 * MIB,
  /** The same for a path set of a remote, and its number of paths: a lookup checks each of them. */
  maxForeignSetBytes: 4 * MIB,
  maxForeignPaths: 20_000,
  /** How long one lookup may check the paths in the path sets of a remote. */
  foreignLookMs: 10 * SECOND,
  /** How many results that hold now are compared with a new one. */
  comparedResults: 8,
  /** How many names may differ between two path sets that become one by patterns. */
  varyingNames: 100,
  /** A folder of the workspace with more names is recorded without them: a miss then names only the folder. */
  shownNames: 100,
  /** Findings in one result. */
  findings: 100,
  /** How many files outside its outputs an action may leave: each hit checks all of them. */
  leftPaths: 1_000,
  /** A larger /etc/ld.so.cache is not parsed. One entry takes about 100 bytes. */
  loaderCacheBytes: 16 * MIB,
  /** The largest kernel file that is compared, and the same for those that grow with the processors. */
  kernelFileBytes: 64 * KIB,
  processorFileBytes: 4 * MIB,
  /** Network interfaces whose addresses are compared: a machine with containers has one for each of them. */
  interfaces: 8,
} as const;

export const LENSES = {
  /** A larger file counts by its bytes: no installer writes one that only names the workspace. */
  placedBytes: 4 * MIB,
} as const;

/** How far Assay follows what an action declares. */
export const DECLARED = {
  /** A script of package.json that runs another one, and so on. */
  deepestScript: 5,
  /** An interpreter that is itself a script, and so on; the part of a script in which its first line must end. */
  deepestInterpreter: 4,
  shebangBytes: 256,
  /** Links that one path may go through. Linux gives up after as many, too. */
  maxLinks: 40,
  /** Compiled patterns that a process keeps. */
  compiledPatterns: 1000,
} as const;

/** `assay audit`. */
export const AUDIT = {
  /** A folder with more files counts as too large for one pattern. */
  patternFiles: 20_000,
} as const;
