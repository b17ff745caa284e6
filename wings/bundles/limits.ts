// Every limit of a bundle: sizes, counts and times. The sizes that the format has are in format/.
import { GIB, MIB, SECOND } from '../../core/units.ts';

export const BUNDLE = {
  /** A larger manifest is refused before any of it is read. One result takes about 2 KB in it. */
  maxManifestBytes: 4 * GIB,
  /** Blobs of one bundle. Each takes 40 bytes of memory while it is read or written. */
  maxBlobs: 1_000_000,
  /** A line of the manifest: the largest result that a client takes from a remote, in base64. */
  maxLineBytes: 24 * MIB,
  /** Slices that are compressed at once, each in a thread of its own. */
  compressedAtOnce: 3,
  /** Small blobs that are stored together, so that they share a commit. */
  batchBytes: 8 * MIB,
  putsAtOnce: 64,
  /** Results that are in memory together while they are stored. */
  recordsAtOnce: 256,
  /** Digests of one question to the store. */
  askedAtOnce: 4096,
  /** How often the leases of what is stored already are renewed. Much less than STORE.leaseMs. */
  renewMs: 600 * SECOND,
  /** How often a terminal, a log and a program see the progress. */
  terminalMs: 100,
  logMs: 1 * SECOND,
  /** Refused records that the report of an import lists. It counts the others. */
  listedRefusals: 20,
  /** Lists of a server's records, at once and in the queue; keys of one list; characters of another answer that are shown. */
  listingsAtOnce: 1,
  listingsWaiting: 16,
  maxAskedKeys: 10_000,
  shownAnswer: 300,
  maxKeyFileBytes: 64 * 1024,
  /** A larger Action or Command is not read. */
  maxMessageBytes: 4 * MIB,
  /** Messages of actions that a walk knows again. Later ones may be read a second time. */
  rememberedMessages: 100_000,
} as const;
