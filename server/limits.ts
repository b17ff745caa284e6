// Every limit of the server: sizes, counts and times. test/server/limits-relations.test.ts asserts their
// relations.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const SERVER = {
  maxBlobBytes: 16 * GIB,
  maxResultBytes: 16 * MIB,
  maxHeaderBytes: 16 * KIB,
  /** One gRPC message: a result of maxResultBytes and its key. */
  maxGrpcMessageBytes: 17 * MIB,
  /** All blobs of one batch: gRPC clients accept 4 MiB by default, and the rest is for the framing. */
  maxBatchBytes: 4 * MIB - 256 * KIB,
  /** The same as a number of blobs, for empty ones. */
  maxBatchBlobs: 65_536,
  /** Blobs that come with a result in one request over HTTP. Together they have maxBatchBytes. */
  maxPublishedBlobs: 1_000,
  /** SpliceBlob and block lists: the largest ratio of a blob's size to the size of its distinct parts. */
  maxAssemblyRatio: 64,
  /** Blobs that are assembled from parts at once, the length of the queue, and the time limit in it. */
  maxAssemblies: 2,
  maxQueuedAssemblies: 256,
  assemblyQueueMs: 60 * SECOND,
  /** Content that a result may inline on a client's request. */
  maxInlineBytes: 1 * MIB,
  /** Calls at a time on one gRPC connection; Bazel makes up to 100. */
  maxStreams: 128,
  /** The flow-control window of one gRPC connection: enough for several uploads at full speed. */
  connectionWindowBytes: 8 * MIB,
  /**
   * One upload message fits into one frame. HTTP/2's default of 16 KiB splits each of Bazel's messages in
   * two.
   */
  maxFrameBytes: 256 * KIB,
  /** A gRPC connection that uses more memory gets no new calls. */
  sessionMegabytes: 64,
  /** A gRPC connection without a call is closed after this time. The client reconnects when it needs to. */
  idleSessionMs: 5 * MINUTE,
  /**
   * A client that sends and receives nothing for this long, while the server waits for it, is cut. A header,
   * a TLS handshake and the first gRPC call must be complete within it. nginx has the same default.
   */
  noProgressMs: 60 * SECOND,
  /** Under pressure, a client must move minProgressBytes within this time. */
  pressureNoProgressMs: 5 * SECOND,
  minProgressBytes: 16 * KIB,
  /**
   * Pressure: more than this share of all connections, or of requestMemoryBytes or responseMemoryBytes, is in
   * use, or request bodies queue.
   */
  pressureConnections: 0.8,
  pressureMemory: 0.5,
  /** Pipelined requests on one HTTP connection. */
  maxPipelined: 128,
  /** How long a connection may be idle between two requests. */
  keepAliveMs: 75 * SECOND,
  /** How often a sweep checks all connections and transfers for the limits above. */
  sweepMs: 200,
  /** How much of an upload is read ahead of the store. */
  uploadBufferBytes: 1 * MIB,
  /** Downloads that have a chunk of a large blob in memory. Others queue. */
  maxDownloads: 20,
  /** How long a request may queue before it is refused. */
  queueTimeoutMs: 60 * SECOND,
  /** Downloads that read a chunk at once. Verifying a chunk blocks the event loop. */
  maxReads: 2,
  /** Chunks in one read, for a client that reads fast, while no download queues. */
  readAheadChunks: 2,
  /** Divergences in one answer at most, and the bytes of blobs that it compares. */
  maxListedDivergences: 1000,
  comparedBytes: 1 * GIB,
  /** Concurrent compressions of large blobs for HTTP clients, and the smallest blob that is compressed. */
  maxCompressions: 8,
  minCompressedBytes: 1 * KIB,
  /** Bytes that the kernels on both sides may buffer of a response that the client does not read. */
  kernelBufferBytes: 8 * MIB,
  /**
   * The largest write to a client that has not read yet, or while downloads queue: a multiple of
   * copyBufferBytes.
   */
  maxWriteBytes: 256 * KIB,
  /** Downloads that send from their chunk without a copy, which stays in memory until the client has it. */
  maxZeroCopyChunks: 16,
  /** The other downloads send through a copy buffer of this size. */
  copyBufferBytes: 32 * KIB,
  /** They release their chunk if the client does not take a copy within this time. */
  copyTimeoutMs: 20,
  /**
   * After an error response, the server drops the rest of the body for this long. The client then gets the
   * response.
   */
  lingerMs: 2 * SECOND,
  /**
   * For tools that fail on a truncated body: a blob up to this size is verified before its first byte is
   * sent.
   */
  verifyFirstBytes: 4 * GIB,
  /** A JSON or XML message of a tool's protocol, such as events or a query of many keys. */
  maxMessageBytes: 1 * MIB,
  /** Restore keys (key prefixes) in one lookup; GitHub's own client sends at most 9. */
  maxRestoreKeys: 100,
  /** How long a signed URL is valid. An upload or download must begin within it. */
  signedUrlMs: 60 * MINUTE,
  /** How long a job that sends nothing keeps its reservation of an entry of GitHub’s cache. */
  reservationMs: 2 * MINUTE,
  /** Entries of GitHub’s cache that are reserved at once. */
  maxReservations: 10_000,
  /** The largest difference between the server's clock and that of a client that signs its requests. */
  signatureSkewMs: 15 * MINUTE,
  /** The part of the store that all pull requests without a quota of their own may hold together. */
  pullRequestShare: 0.25,
  /** The pause between two comparisons of the store's index with its folder. */
  reconcilePauseMs: 24 * 60 * MINUTE,
  /** During one, after each step, a pause of this many times its duration: requests have the rest of the core. */
  reconcilePauseFactor: 19,
  /** How often the certificate files are checked for changes. */
  tlsReloadMs: 1 * MINUTE,
  /** With this many connections, V8's heap is kept small. */
  crowdConnections: 256,
  /** Each crowd begins with a garbage collection, but at most one runs within this time. */
  heapCollectMs: 60 * SECOND,
  /** The limit of open files may lower it. */
  maxConnections: 4096,
  /** Connections beyond maxConnections that get an error response. Others are closed without one. */
  surplusConnections: 16,
  /** Concurrent large request bodies, each with one or two chunk buffers. Others queue. */
  maxBodies: 256,
  /** Request bodies that are in memory as a whole, of all connections together. */
  requestMemoryBytes: 512 * MIB,
  /** The same for responses that are larger than a small blob, until the clients have them. */
  responseMemoryBytes: 512 * MIB,
  /** Small blobs that the response with a result inlines. */
  inlinedBlobsBytes: 256 * KIB,
  /** The Retry-After header of a 503 response. */
  retryAfterSeconds: 1,
  /** The same if the store is full: space becomes free as leases expire. */
  fullRetryAfterSeconds: 60,
  /** The pause between two verifications of the whole store, and after one that failed. */
  scrubPauseMs: 24 * 60 * MINUTE,
  scrubRetryMs: 5 * MINUTE,
  /** How long a server of a fleet is unready before it closes its port: load balancers ask every second or two. */
  noticeMs: 5 * SECOND,
  /** How long a stop waits for transfers in flight. */
  drainMs: 10 * SECOND,
  /** How often a stop closes connections that have become idle. */
  idleReapMs: 50,
  /** Misses that a tool may ask for again, and that then count once. */
  maxRepeatedMisses: 10_000,
  /** How long a stop waits for the store to discard uploads that were cut. */
  discardMs: 5 * SECOND,
} as const;

export type ServerLimits = Readonly<Record<keyof typeof SERVER, number>>;

/** Tokens, and the issuers whose tokens are exchanged. */
export const ACCESS = {
  /** The longest life of a short token. Builds take longer rarely, and a token that leaked ends soon. */
  maxShortTokenMs: 60 * MINUTE,
  minShortTokenMs: 10 * MINUTE,
  /** Ten namespaces of 255 characters in base64url, and the rest. A header has at most maxHeaderBytes. */
  maxShortTokenLength: 4 * KIB,
  /** The same in the form of a JWT. Its header and claims are not read. */
  maxWrappedTokenLength: 8 * KIB,
  /** Namespaces that a rule names besides its own. A pull request reads one more. */
  maxRuleReads: 8,
  /** Valid credentials in memory: about as many as jobs run at once. Others are verified again. */
  maxKnownCredentials: 1024,
  /** A short token with its scheme. Basic adds a user and a third for base64. */
  maxKnownCredentialLength: 6 * KIB,
  /** How often the tokens file is checked for changes. The help of `assay token` promises 5 s. */
  tokensPollMs: 2 * SECOND,
  /** The body of a request to exchange a token for a short one. */
  maxExchangeBytes: 64 * KIB,
  /** Refused exchanges from one address within failedExchangesMs, and addresses that are counted. */
  maxFailedExchanges: 30,
  failedExchangesMs: 60 * SECOND,
  maxFailingClients: 1024,
  /** How long a browser stays logged in: a working day. */
  sessionMs: 12 * 60 * MINUTE,
  /** Browsers keep cookies of up to 4096 bytes, with their name and attributes. */
  maxSessionLength: 3900,
} as const;

export const ZSTD = {
  /** The fastest regular level: all requests share the server's CPU. */
  level: 1,
  /** 8 MiB, the largest window of levels up to 19. A frame could request 2 GiB. */
  maxWindowLog: 23,
  pieceBytes: 256 * KIB,
  /** Output up to this size may have any ratio: files full of zeros are common. */
  ratioUncheckedBytes: 256 * MIB,
  /** The largest ratio of output to input beyond that. A larger one is most likely an attack. */
  maxRatio: 1000,
  /** Input of the first step of decompression. Each step doubles the input, so the ratio is checked early. */
  firstInputBytes: 4 * KIB,
} as const;

/** What the answer to a miss says about the earlier action of its step (server/protocols/path-sets/earlier.ts). */
export const EARLIER_ACTION = {
  /** Of the whole message. */
  maxBytes: 96 * KIB,
  /** An Action and a Command that are read for it. */
  maxActionBytes: 1 * MIB,
  /** Directory messages in the answer. */
  directories: 64,
  directoryBytes: 16 * KIB,
  /** Actions that are tried: some are no longer stored. */
  triedActions: 4,
} as const;

/** How requests are counted. */
export const ACCOUNTING = {
  /** Requests that wait to be counted together, and how long one of them may wait. */
  countedAtOnce: 64,
  countAfterMs: 100,
  /** Texts by which callers are known again. */
  maxCallers: 500,
  /** Namespaces that are a label of metrics; the rest is counted together. */
  maxNamespaceLabels: 100,
  /** How long a client may take to ask for another result than the predicted one, and how many may be undecided. */
  predictionMs: 3 * SECOND,
  maxPredictions: 10_000,
  /** The part of a User-Agent, or of another name of a caller, that is read. */
  maxCallerText: 100,
} as const;

/** How long the store's history keeps documents. */
export const HISTORY_DOCUMENTS = {
  keptMs: 90 * 24 * 60 * MINUTE,
  /** Figures by the minute: a day, and the hour in which it began. */
  minutesKeptMs: 25 * 60 * MINUTE,
  /** The part of the store's limit that the history may take, and its bytes without a limit. */
  share: 0.02,
  bytes: 2 * GIB,
  /** No run is reported into a history of so many times that. How long its count is used. */
  room: 2,
  countMs: 1 * MINUTE,
  /** How often old documents are removed. */
  retentionMs: 10 * MINUTE,
  /** How long used tokens and ended sessions are kept beyond their end: the clock of another server may be behind. */
  usedTokensMs: 60 * MINUTE,
  /** A smaller document is stored as it is. The largest one after decompression. */
  compressedFrom: 1 * KIB,
  maxDocumentBytes: 16 * MIB,
} as const;

/** What the history may take of a store that has this limit. */
export function historyShare(limit: number): number {
  return Math.min(HISTORY_DOCUMENTS.bytes, limit * HISTORY_DOCUMENTS.share);
}

/** What a message of a protocol may contain. */
export const PROTOCOL = {
  /** The message of a gRPC status. It may quote the request, and travels in a trailer, whose size is limited. */
  maxStatusLength: 1024,
  /** The resource name of a byte stream, and each field of a WriteRequest but the data. */
  maxResourceNameLength: 2048,
  maxWriteFieldBytes: 4 * KIB,
  /** URIs of one asset. */
  maxAssetUris: 64,
  /** The version of an entry of GitHub's cache, and the id of a block of its uploads. */
  maxVersionLength: 512,
  maxBlockIdLength: 256,
  /** Rush asks for a miss again. So many requests within this time count once. */
  repeatedMisses: 3,
  repeatedMissMs: 15 * SECOND,
  /** The longest duration of a task that Turborepo may report. */
  maxDurationMs: 31 * 24 * 60 * MINUTE,
} as const;
