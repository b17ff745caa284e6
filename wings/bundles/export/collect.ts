// Collects what goes into a bundle from the records of a store: results with all that they name, the path sets that lead to
// them, and their labels.
// Guarantees:
// - A result is collected only if every blob that it names is stored and leased, and a client would take its outputs.
// - It leaves out, and counts, results that hold on this machine only, and those that may reveal a private file.
// - Memory: the digests of all blobs, and the keys of actions and path sets. Results go to a temporary file.
import { isReadElsewhere } from '../../../client/path-sets/path-sets.ts';
import { whyLocal } from '../../../client/run/acceptance.ts';
import type { Digest, Hash } from '../../../core/digest.ts';
import { decodeEvidence } from '../../../core/evidence.ts';
import { actionNamedBy } from '../../../core/metadata/receipt.ts';
import { decodePathSet, recordedState, resultKey } from '../../../core/path-set.ts';
import type { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs } from '../../../store/store.ts';
import { BlobTable } from '../format/blob-table.ts';
import { type KnownBlobs, requireFit } from '../format/fit.ts';
import { encodeRecord, type Maker } from '../format/records.ts';
import { Spool } from '../format/spool.ts';
import { ActionMessages } from './messages.ts';
import type { IsPrivate } from './private-sets.ts';
import type { RecordSource, SourceResult } from './source.ts';

interface CollectOptions {
  readonly records: RecordSource;
  readonly blobs: Blobs;
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
  /** It holds in one workspace only, or may reveal the content of a private file. */
  local: number;
  /** A client would refuse its outputs if a server sent them. */
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
  readonly #messages: ActionMessages;
  #results = 0;

  constructor(options: CollectOptions) {
    this.#options = options;
    const { blobs } = options;
    const sizeOf = async (hash: Hash) => (await blobs.get(hash))?.size;
    this.#known = { blobs, sizeOf, missing: (digests) => blobs.missing(digests) };
    this.#messages = new ActionMessages(blobs);
  }

  async collect(): Promise<Collected> {
    const { made } = this.#options;
    this.#add({ made });
    for await (const { action, set } of this.#options.records.sets())
      this.#slots.set(action, [...(this.#slots.get(action) ?? []), set]);
    const taken = await this.#takeResults();
    let sets = 0;
    for (const [action, { shown }] of this.#judged)
      for (const set of taken.has(action) ? shown : []) {
        this.#table.add(set);
        this.#add({ set: { action, set: set.hash } });
        sets++;
      }
    let labels = 0;
    for await (const label of this.#options.records.labels()) {
      if (!taken.has(`${label.in} ${label.key}`)) continue;
      this.#add({ label });
      labels++;
    }
    this.#table.sort();
    const counts = { results: this.#results, sets, labels };
    return { spool: this.spool, blobs: this.#table, leftOut: this.#leftOut, ...counts };
  }

  #add(record: Parameters<typeof encodeRecord>[0]): void {
    this.spool.add(Buffer.from(encodeRecord(record)));
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
  async #takeResults(): Promise<ReadonlySet<string>> {
    const taken = new Set<string>();
    for await (const seen of this.#options.records.results()) {
      const decoded = await this.#take(seen);
      if (!decoded) continue;
      const action = actionNamedBy(decoded) ?? seen.key;
      taken.add(seen.in === '' ? action : `${seen.in} ${seen.key}`);
      if (seen.in !== '') continue;
      for await (const message of this.#messages.of(action)) this.#table.add(message);
    }
    return taken;
  }

  /** Undefined if it is left out. */
  async #take(seen: SourceResult): Promise<ActionResult | undefined> {
    const stored = await this.#options.records.get(seen);
    if (!stored) {
      this.#leftOut.incomplete++;
      return undefined;
    }
    const record = { in: seen.in, key: seen.key, message: stored.bytes };
    let decoded: ActionResult;
    try {
      decoded = await requireFit(record, this.#known);
    } catch {
      this.#leftOut.unfit++;
      return undefined;
    }
    if (seen.in === '' && (await this.#isLocal(decoded, seen.key))) {
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

  /** Undefined if it is gone or damaged. */
  async #read({ hash }: Digest): Promise<Buffer | undefined> {
    try {
      return await readBlob(hash, this.#options.blobs);
    } catch {
      return undefined;
    }
  }
}
