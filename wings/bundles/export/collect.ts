// Collects what goes into a bundle from the records of a store: results with all that they name, the path sets that lead to
// them, and their labels.
// Guarantees:
// - A result is collected only if every blob that it names is stored and leased, and a client would take its outputs.
// - What holds on this machine only, and what may tell a private file, is left out, and counted.
// - Memory: the digests of all blobs, and the keys of actions and path sets. Results go to a temporary file.
import { isReadElsewhere } from '../../../client/path-sets/path-sets.ts';
import { whyLocal } from '../../../client/run/acceptance.ts';
import { type Digest, digestOf, type Hash, parseDigest, parseHash } from '../../../core/digest.ts';
import { decodeEvidence } from '../../../core/evidence.ts';
import { actionNamedBy } from '../../../core/metadata/receipt.ts';
import { decodePathSet, resultKey } from '../../../core/path-set.ts';
import { Action, type ActionResult, Directory } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import { selector } from '../../../store/review/selection.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs, Results, Review, ReviewedResult } from '../../../store/store.ts';
import { BlobTable } from '../format/blob-table.ts';
import { type KnownBlobs, requireFit } from '../format/fit.ts';
import { encodeRecord, isKind, type LabelRecord, type Maker } from '../format/records.ts';
import { Spool } from '../format/spool.ts';
import { recordedState } from '../import/publish.ts';
import { BUNDLE } from '../limits.ts';
import type { IsPrivate } from './private-sets.ts';
import type { WantedResult } from './wanted.ts';

export interface CollectOptions {
  readonly review: Review;
  readonly results: Pick<Results, 'get'>;
  readonly blobs: Blobs;
  readonly wanted: WantedResult;
  readonly made: Maker;
  readonly isPrivate: IsPrivate;
  readonly onResult: (results: number) => void;
}

export interface Collected {
  /** Without the lines of the blobs. */
  readonly spool: Spool;
  readonly blobs: BlobTable;
  readonly results: number;
  readonly sets: number;
  readonly labels: number;
  readonly leftOut: LeftOut;
}

/** Results that were wanted. */
export interface LeftOut {
  /** A blob of it is missing, or damaged. */
  incomplete: number;
  /** It holds in one workspace only, or may tell the content of a private file. */
  local: number;
  /** Its outputs are none that a client takes from a server. */
  unfit: number;
}

export async function collectBundle(options: CollectOptions): Promise<Collected> {
  const collection = new Collection(options);
  try {
    return await collection.collect();
  } catch (error) {
    collection.spool.close();
    throw error;
  }
}

interface KnownSet {
  readonly action: Hash;
  readonly set: Digest;
}

/** The path sets of an action that may be told, and the keys of the results that only others lead to. */
interface JudgedSets {
  readonly shown: readonly Digest[];
  readonly hidden: ReadonlySet<Hash>;
}

class Collection {
  readonly spool = new Spool();
  readonly #options: CollectOptions;
  readonly #table = new BlobTable();
  readonly #leftOut: LeftOut = { incomplete: 0, local: 0, unfit: 0 };
  readonly #known: KnownBlobs;
  /** By the key of the action. */
  readonly #slots = new Map<Hash, Digest[]>();
  readonly #judged = new Map<Hash, JudgedSets>();
  /** Messages of actions that are in the table already. */
  readonly #messages = new Set<Hash>();
  #results = 0;

  constructor(options: CollectOptions) {
    this.#options = options;
    const { blobs } = options;
    this.#known = { blobs, sizeOf: async (hash) => (await blobs.get(hash))?.size };
  }

  async collect(): Promise<Collected> {
    const { made } = this.#options;
    this.#add({ made });
    const labels = await this.#labels();
    await this.#findSlots();
    const taken = await this.#takeResults(labels);
    let sets = 0;
    for (const [action, { shown }] of this.#judged)
      for (const set of taken.has(action) ? shown : []) {
        this.#table.add(set);
        this.#add({ set: { action, set: set.hash } });
        sets++;
      }
    const named = labels.filter(({ in: kind, key }) => taken.has(`${kind} ${key}`));
    for (const label of named) this.#add({ label });
    this.#table.sort();
    const counts = { results: this.#results, sets, labels: named.length };
    return { spool: this.spool, blobs: this.#table, leftOut: this.#leftOut, ...counts };
  }

  #add(record: Parameters<typeof encodeRecord>[0]): void {
    this.spool.add(Buffer.from(encodeRecord(record)));
  }

  /** The oldest of each namespace first. */
  async #labels(): Promise<LabelRecord[]> {
    const found: LabelRecord[] = [];
    for await (const { namespace, label, key } of this.#options.review.labels())
      if (namespace !== '' && isKind(namespace)) found.push({ in: namespace, label, key });
    return found.reverse();
  }

  async #findSlots(): Promise<void> {
    for await (const { address, result, isRival } of this.#options.review.results()) {
      const slot = isRival || address.namespace !== '' ? undefined : slotIn(result.bytes);
      if (slot) this.#slots.set(slot.action, [...(this.#slots.get(slot.action) ?? []), slot.set]);
    }
  }

  async #setsOf(action: Hash): Promise<JudgedSets> {
    const known = this.#judged.get(action);
    if (known) return known;
    const shown: Digest[] = [];
    const [open, hidden] = [new Set<Hash>(), new Set<Hash>()];
    for (const digest of this.#slots.get(action) ?? []) {
      const bytes = await this.#read(digest);
      if (!bytes) continue;
      const set = decodePathSet(bytes);
      const isPrivate = this.#options.isPrivate(action, set);
      (isPrivate ? hidden : open).add(resultKey(action, set, recordedState).hash);
      if (!isPrivate && isReadElsewhere(set, digest.size)) shown.push(digest);
    }
    const judged = { shown, hidden: hidden.difference(open) };
    this.#judged.set(action, judged);
    return judged;
  }

  /** Returns the actions whose results are in the bundle, and "KIND KEY" of the other results. */
  async #takeResults(labels: readonly LabelRecord[]): Promise<ReadonlySet<string>> {
    const { review, wanted } = this.#options;
    const isWanted = await wish(wanted, labels, review);
    const taken = new Set<string>();
    for await (const seen of review.results()) {
      const { address, result, isRival } = seen;
      const isOfAction = address.namespace === '';
      if (isRival || !isKind(address.namespace) || !isWanted(seen)) continue;
      if (isOfAction && slotIn(result.bytes)) continue;
      const decoded = await this.#take(seen);
      if (!decoded) continue;
      const action = actionNamedBy(decoded) ?? address.key;
      taken.add(isOfAction ? action : `${address.namespace} ${address.key}`);
      if (isOfAction) await this.#takeAction(action);
    }
    return taken;
  }

  /** Undefined if it is left out. */
  async #take({ address }: ReviewedResult): Promise<ActionResult | undefined> {
    const stored = await this.#options.results.get(address);
    if (!stored) {
      this.#leftOut.incomplete++;
      return undefined;
    }
    const record = { in: address.namespace, key: address.key, message: stored.bytes };
    let decoded: ActionResult;
    try {
      decoded = await requireFit(record, this.#known);
    } catch {
      this.#leftOut.unfit++;
      return undefined;
    }
    if (address.namespace === '' && (await this.#isLocal(decoded, address.key))) {
      this.#leftOut.local++;
      return undefined;
    }
    for (const digest of stored.references) if (digest.size > 0) this.#table.add(digest);
    this.#add({ result: record });
    this.#options.onResult(++this.#results);
    return decoded;
  }

  async #isLocal(result: ActionResult, key: Hash): Promise<boolean> {
    const { hidden } = await this.#setsOf(actionNamedBy(result) ?? key);
    const evidence = decodeEvidence(result.executionMetadata?.auxiliaryMetadata ?? []);
    return hidden.has(key) || whyLocal(evidence) !== undefined;
  }

  /** The messages that the key is computed from, so that a miss elsewhere can be compared with them. They may be gone. */
  async #takeAction(key: Hash): Promise<void> {
    const bytes = await this.#message(key);
    if (!bytes) return;
    const { commandDigest, inputRootDigest } = Action.decode(bytes);
    if (commandDigest) await this.#message(parseHash(commandDigest.hash));
    const folders = inputRootDigest ? [parseHash(inputRootDigest.hash)] : [];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const message = this.#messages.has(folder) ? undefined : await this.#message(folder);
      const { directories } = Directory.decode(message ?? new Uint8Array(0));
      for (const { digest } of directories) if (digest) folders.push(parseDigest(digest).hash);
    }
  }

  async #message(hash: Hash): Promise<Buffer | undefined> {
    const size = await this.#known.sizeOf(hash);
    if (!size || size > BUNDLE.maxMessageBytes) return undefined;
    const bytes = await this.#read({ hash, size });
    if (bytes && !this.#messages.has(hash)) {
      this.#messages.add(hash);
      this.#table.add(digestOf(bytes));
    }
    return bytes;
  }

  /** Undefined if it is gone or damaged. */
  async #read({ hash }: Digest): Promise<Buffer | undefined> {
    try {
      return await readBlob(hash, this.#options.blobs);
    } catch {
      return undefined;
    }
  }
}

/** A predicate of results. Each condition of `keys` and `labels` adds some; `since` leaves some out. */
async function wish(
  { keys, labels: beginnings, since }: WantedResult,
  labels: readonly LabelRecord[],
  review: Review,
): Promise<(seen: ReviewedResult) => boolean> {
  const isAll = keys.length === 0 && beginnings.length === 0;
  const isOfKeys = keys.length > 0 ? await selector({ keys }, review) : () => false;
  const labelled = new Set(
    labels
      .filter(({ label }) => beginnings.some((beginning) => label.startsWith(beginning)))
      .map(({ in: kind, key }) => `${kind} ${key}`),
  );
  return (seen) => {
    const isNamed = isAll || isOfKeys(seen) || labelled.has(`${seen.address.namespace} ${seen.address.key}`);
    return isNamed && (since === undefined || madeAt(seen) >= since);
  };
}

/** In milliseconds since 1970; 0 if nobody says. */
function madeAt({ result }: ReviewedResult): number {
  try {
    const { executionCompletedTimestamp: end, executionStartTimestamp: start } =
      decodeResult(result.bytes).executionMetadata ?? {};
    const at = end ?? start;
    return at ? at.seconds * 1000 + at.nanos / 1e6 : (result.writer?.at ?? 0);
  } catch {
    return 0;
  }
}

/** The path set that a slot of a local store holds (client/path-sets/storage.ts). Undefined for any other result. */
function slotIn(bytes: Uint8Array): KnownSet | undefined {
  try {
    const result = decodeResult(bytes);
    const [file, ...more] = result.outputFiles;
    const action = actionNamedBy(result);
    if (file?.path !== 'path-set' || more.length > 0 || !file.digest || action === undefined)
      return undefined;
    return result.executionMetadata?.worker === '' && !result.executionMetadata.executionStartTimestamp
      ? { action, set: parseDigest(file.digest) }
      : undefined;
  } catch {
    return undefined;
  }
}
