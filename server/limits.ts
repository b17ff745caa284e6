// Every limit of the server: sizes, counts and times. test/server/limits-relations.test.ts asserts their relations.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../core/units.ts';

export const SERVER = {
  maxBlobBytes: 16 * GIB,
  maxResultBytes: 16 * MIB,
  maxHeaderBytes: 16 * KIB,
  /** One gRPC message: a result of maxResultBytes and its key. */
  maxGrpcMessageBytes: 17 * MIB,
  /** All blobs of one batch: gRPC clients take 4 MiB by default, and something is left for what frames the blobs. */
  maxBatchBytes: 4 * MIB - 256 * KIB,
  /** The same as a number of blobs, for those that weigh nothing. */
  maxBatchBlobs: 65_536,
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
  /** Under pressure, a client must move minProgressBytes within this time. */
  pressureNoProgressMs: 5 * SECOND,
  minProgressBytes: 16 * KIB,
  /** Pressure: more than this share of all connections, or of requestMemoryBytes or responseMemoryBytes, is in use, or bodies wait for a place. */
  pressureConnections: 0.8,
  pressureMemory: 0.5,
  /** Requests that a client may have sent on one HTTP connection before it has the answers to those before. */
  maxPipelined: 128,
  /** How long a connection may be idle between two requests. */
  keepAliveMs: 75 * SECOND,
  /** How often a sweep checks all connections and transfers for the limits above. */
  sweepMs: 200,
  /** In a crowd, a sweep checks a share of them this often. */
  crowdSweepMs: 10,
  /** How much of an upload is read ahead of the store. */
  uploadBufferBytes: 1 * MIB,
  /** Downloads that have a chunk of a large blob in memory. Others queue. */
  maxDownloads: 20,
  /** How long a request waits for its turn, or for a place, before it is refused. */
  queueTimeoutMs: 60 * SECOND,
  /** Of those, how many read a chunk at once. Verifying a chunk blocks the event loop. */
  maxReads: 2,
  /** Who keeps up, while nobody waits for a turn, has so many chunks read in one go. */
  readAheadChunks: 2,
  /** Large blobs that are compressed at once for HTTP clients, and the least that is worth it. */
  maxCompressions: 8,
  minCompressedBytes: 1 * KIB,
  /** Bytes that the kernels on both sides may buffer of a response that the client does not read. */
  kernelBufferBytes: 8 * MIB,
  /** The largest write to a client that has not read yet, or while other downloads wait. A multiple of copyBufferBytes. */
  maxWriteBytes: 256 * KIB,
  /** Downloads that send from their chunk without a copy, which stays in memory until the client has it. */
  maxZeroCopyChunks: 16,
  /** The other downloads send through a copy buffer of this size. */
  copyBufferBytes: 32 * KIB,
  /** They release their chunk if the client does not take a copy within this time. */
  copyTimeoutMs: 20,
  /** After an error response, the rest of the body is read and dropped for this long, so that the client gets the response. */
  lingerMs: 2 * SECOND,
  /** For tools that fail on a truncated body: a blob up to this size is verified before its first byte is sent. */
  verifyFirstBytes: 4 * GIB,
  /** A message of a tool's own protocol: events, questions about many keys. */
  maxMessageBytes: 1 * MIB,
  /** Beginnings of keys that one lookup may try; GitHub's own client sends at most 9. */
  maxRestoreKeys: 100,
  /** How long a signed address is good for an upload or a download: the largest may take this long to begin. */
  signedUrlMs: 60 * MINUTE,
  /** A job that has reserved an entry of GitHub’s cache and sends nothing keeps others from it this long … */
  reservationMs: 2 * MINUTE,
  /** … and so many entries may be reserved at once. */
  maxReservations: 10_000,
  /** How far the clock of a client that signs its requests may be from ours. */
  signatureSkewMs: 15 * MINUTE,
  /** Between two comparisons of the store's index with its folder. */
  reconcilePauseMs: 24 * 60 * MINUTE,
  /** Between two looks at the files that hold the certificate. */
  tlsReloadMs: 1 * MINUTE,
  /** From so many connections on, V8's heap is kept small. */
  crowdConnections: 256,
  /** A crowd that comes and goes has the heap tidied up no more often than this. */
  heapCollectMs: 60 * SECOND,
  /** Fewer where the process may open fewer files. */
  maxConnections: 4096,
  /** Beyond those, so many are let in to be told that there is no place; further ones are closed without a word. */
  surplusConnections: 16,
  /** Large bodies on their way in at once, each with a buffer or two of a chunk; more wait. */
  maxBodies: 256,
  /** Bodies that are held in memory as a whole, of all connections together. */
  requestMemoryBytes: 512 * MIB,
  /** The same for answers that are larger than a small blob, until their clients have taken them. */
  responseMemoryBytes: 512 * MIB,
  /** Small blobs that are sent along with one result. */
  inlinedBlobsBytes: 256 * KIB,
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
  ratioUncheckedBytes: 256 * MIB,
  /** … and beyond that, so many bytes for each that was sent. A larger ratio is most likely an attack. */
  maxRatio: 1000,
  /** So much is inflated at first, and then as much as before each time, so that it is judged before much has come out. */
  firstOutputBytes: 4 * KIB,
} as const;
