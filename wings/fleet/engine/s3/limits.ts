// The limits of the S3 client. S3's own limits: 10,000 parts, and parts of at least 5 MiB and at most 5 GiB.
import { GIB, KIB, MIB, MINUTE, SECOND } from '../../../../core/units.ts';

export const S3 = {
  /** A transfer ends if neither side moves a byte for this long. Waiting for the content itself does not count. */
  idleMs: 20 * SECOND,
  /** The first byte of an answer comes within this time … */
  answerMs: 5 * SECOND,
  /** … or within this one, if the server stores bytes or lists objects before it answers … */
  storedMs: 20 * SECOND,
  /** … or joins the parts of an object. */
  joinedMs: 1 * MINUTE,
  /** Time for a connection. It is shorter: a server that is there accepts at once. */
  connectMs: 5 * SECOND,
  connections: 64,
  /** Requests that wait for a connection, and how long. */
  maxWaiting: 16_384,
  waitMs: 1 * MINUTE,
  /** Attempts of a request that may be repeated, and the pause before the second one. Each further pause doubles. */
  attempts: 3,
  pauseMs: 100,
  /** An object up to this size is sent by one request, if its size is known. */
  singlePutBytes: 1 * GIB,
  /** The smallest part of a larger object. */
  partBytes: 64 * MIB,
  /** Content of unknown size is collected into parts of this size: S3 wants the size of each part before it. */
  collectedPartBytes: 8 * MIB,
  maxParts: 10_000,
  /** Names in one DeleteObjects, of which S3 takes 1,000, and such requests at once: a server deletes before it answers. */
  deletedAtOnce: 250,
  concurrentBatches: 2,
  /** Requests at once from a server that does not know DeleteObjects. */
  concurrentDeletes: 8,
  /** The most that is read of an answer that is not an object. A page of 1,000 names takes about 400 KB. */
  maxAnswerBytes: 4 * MIB,
  /** A smaller piece of content is copied before it is sent (outgoing.ts). */
  minUncopiedBytes: 256 * KIB,
};
