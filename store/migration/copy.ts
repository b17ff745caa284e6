// Copies everything in one engine to another: blobs with their tenants, results with their writers and rivals, labels
// in their order, and the history. Unfinished uploads are not copied.
//
// Invariants:
// M1 Nothing in the target is replaced, except a result that is no hit because a blob of it is missing.
// M2 Blobs come before the results that name them, and results before labels. So whatever moment a copy is killed
//    at, the target has only whole results. A blob that came after the pass over the blobs is copied with the first
//    result that names it. So one pass has every result that is in the source from its beginning to its end.
// M3 The target says what is there already, so a copy keeps no state of its own and may be repeated at any time.
// M4 Every byte is checked twice: against the source's checksum when it is read, and against its SHA-256 by the put.
// M5 A copy has ended when a pass over the whole source finds nothing that the target lacks.
//
// The target counts everything as used now: the order of use of the source is lost.
import { concurrently } from '../../core/concurrently.ts';
import { type Digest, EMPTY, type Hash, parseHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import { STORE } from '../limits.ts';
import type { Blobs, Engine, InspectedBlob, Inspection, ResultAddress, StoredResult } from '../store.ts';

export interface CopyProgress {
  /** Passes over the source, counted from 1. */
  readonly pass: number;
  readonly doing: 'blobs' | 'results' | 'labels' | 'history';
  /** How much of the blobs this pass has seen, from 0 to 1. */
  readonly share: number;
  readonly seen: CopyCounts;
  /** In all passes. */
  readonly copied: CopyCounts;
  /** Blobs that the source could not give in any pass: damaged, or removed meanwhile. */
  readonly unreadable: number;
  /** Results of which a blob is missing in the source. */
  readonly incomplete: number;
  /** Results and labels that the target has with other content. The target's stay. */
  readonly kept: number;
}

interface CopyCounts {
  readonly blobs: number;
  readonly bytes: number;
  readonly results: number;
  readonly labels: number;
  readonly documents: number;
}

interface CopyOptions {
  readonly from: Engine;
  readonly to: Engine;
  readonly onProgress: (progress: CopyProgress) => void;
  /** Awaited between pages, while nothing of the source is open. */
  readonly onPage?: (() => Promise<void>) | undefined;
  /** Results that are not copied. */
  readonly leavesOut?: (address: ResultAddress) => boolean;
  /** Passes over a source that is written meanwhile (M5). */
  readonly passes?: number;
}

export interface Copied extends CopyProgress {
  /** The last pass found nothing to copy. */
  readonly isComplete: boolean;
}

export async function copyStore(options: CopyOptions): Promise<Copied> {
  const inspection = await options.from.inspect?.();
  if (!inspection) throw new AssayError('ASSAY_INTERNAL', 'the source can be inspected');
  const copy = new Copy(options, inspection);
  for (let pass = 1; ; pass++) {
    const isComplete = await copy.pass(pass);
    if (isComplete || pass >= (options.passes ?? STORE.copyPasses)) return { ...copy.progress, isComplete };
  }
}

const NOTHING = { blobs: 0, bytes: 0, results: 0, labels: 0, documents: 0 };
const SHARE_DIGITS = 8;

class Copy {
  readonly #options: CopyOptions;
  readonly #from: Engine;
  readonly #to: Engine;
  readonly #inspection: Inspection;
  #pass = 0;
  #doing: CopyProgress['doing'] = 'blobs';
  #share = 0;
  #seen = { ...NOTHING };
  readonly #copied = { ...NOTHING };
  readonly #unreadable = new Set<Hash>();
  #incomplete = 0;
  #kept = 0;

  constructor(options: CopyOptions, inspection: Inspection) {
    this.#options = options;
    this.#from = options.from;
    this.#to = options.to;
    this.#inspection = inspection;
  }

  get progress(): CopyProgress {
    return {
      pass: this.#pass,
      doing: this.#doing,
      share: this.#share,
      seen: { ...this.#seen },
      copied: { ...this.#copied },
      unreadable: this.#unreadable.size,
      incomplete: this.#incomplete,
      kept: this.#kept,
    };
  }

  /** True if nothing was copied. */
  async pass(number: number): Promise<boolean> {
    const before = { ...this.#copied };
    this.#pass = number;
    this.#share = 0;
    this.#seen = { ...NOTHING };
    this.#incomplete = 0;
    this.#kept = 0;
    this.#doing = 'blobs';
    await this.#copyBlobs();
    this.#doing = 'results';
    await this.#copyResults();
    this.#doing = 'labels';
    await this.#copyLabels();
    this.#doing = 'history';
    await this.#copyHistory();
    const { blobs, results, labels, documents } = this.#copied;
    return (
      blobs === before.blobs &&
      results === before.results &&
      labels === before.labels &&
      documents === before.documents
    );
  }

  async #afterPage(): Promise<void> {
    this.#options.onProgress(this.progress);
    await this.#options.onPage?.();
  }

  async #copyBlobs(): Promise<void> {
    let last: Hash | undefined;
    for (;;) {
      const page = await this.#inspection.blobsAfter(last);
      last = page.at(-1)?.hash;
      if (last === undefined) break;
      await concurrently(await this.#lacking(page), STORE.copiesAtOnce, (blob) => this.#copyBlob(blob));
      this.#seen.blobs += page.length;
      this.#seen.bytes += page.reduce((sum, { size }) => sum + Math.max(0, size), 0);
      this.#share = Number.parseInt(last.slice(0, SHARE_DIGITS), 16) / 2 ** (4 * SHARE_DIGITS);
      await this.#afterPage();
    }
    this.#share = 1;
  }

  /** The blobs of a page that the target lacks, each with the tenants for which it lacks it. */
  async #lacking(page: readonly InspectedBlob[]): Promise<LackingBlob[]> {
    const views = new Map<Blobs, InspectedBlob[]>();
    const viewsOf = ({ tenants }: InspectedBlob) =>
      tenants.length === 0 ? [this.#to.blobs] : tenants.map((name) => this.#viewOf(name));
    for (const blob of page.filter(({ size }) => size > 0))
      for (const view of viewsOf(blob)) views.set(view, [...(views.get(view) ?? []), blob]);
    const lacking = new Map<Hash, LackingBlob>();
    for (const [view, blobs] of views)
      for (const { hash, size } of await view.missing(blobs)) {
        const known = lacking.get(hash) ?? { digest: { hash, size }, views: [] };
        known.views.push(view);
        lacking.set(hash, known);
      }
    return [...lacking.values()];
  }

  readonly #views = new Map<string, Blobs>();

  #viewOf(tenant: string): Blobs {
    const view = this.#views.get(tenant) ?? this.#to.tenant(tenant).blobs;
    this.#views.set(tenant, view);
    return view;
  }

  /** A tenant gets a blob by a put of the whole content, as ever. */
  async #copyBlob({ digest, views }: LackingBlob): Promise<void> {
    for (const view of views) {
      try {
        const blob = await this.#inspection.read(digest.hash);
        if (!blob) throw new AssayError('ASSAY_NOT_FOUND', digest.hash);
        await view.put(digest, blob.bytes ?? blob.chunks());
      } catch (error) {
        if (!(error instanceof AssayError) || !UNREADABLE.has(error.code)) throw error;
        this.#unreadable.add(digest.hash);
        return;
      }
    }
    this.#copied.blobs++;
    this.#copied.bytes += digest.size;
  }

  async #copyResults(): Promise<void> {
    for (let position: string | undefined; ; ) {
      const page = await this.#from.records.after(position);
      const records = page.records.filter(({ address }) => !this.#options.leavesOut?.(address));
      const named = records.flatMap(({ result }) => result.references);
      const missing = await this.#missingAfterCopy(named);
      await concurrently(records, STORE.copiesAtOnce, async ({ address, result }) => {
        if (result.references.some(({ hash }) => missing.has(hash))) this.#incomplete++;
        else await this.#copyResult(address, result);
      });
      this.#seen.results += page.records.length;
      await this.#afterPage();
      position = page.position;
      if (position === undefined) return;
    }
  }

  /** Copies what the target lacks of these, and returns what it still lacks (M2). */
  async #missingAfterCopy(named: readonly Digest[]): Promise<Set<Hash>> {
    const missing = await this.#missing(named);
    if (missing.size === 0) return missing;
    await concurrently([...missing], STORE.copiesAtOnce, async (hash) => {
      const blob = await this.#inspected(hash);
      for (const lacking of blob ? await this.#lacking([blob]) : []) await this.#copyBlob(lacking);
    });
    return this.#missing(named);
  }

  /** The blob with its tenants, as the source has it now. */
  async #inspected(hash: Hash): Promise<InspectedBlob | undefined> {
    const [next] = await this.#inspection.blobsAfter(hashBefore(hash));
    return next?.hash === hash ? next : undefined;
  }

  async #missing(digests: readonly Digest[]): Promise<Set<Hash>> {
    const each = new Map(digests.map((digest) => [digest.hash, digest]));
    each.delete(EMPTY.hash);
    const missing = await this.#to.blobs.missing([...each.values()]);
    return new Set(missing.map(({ hash }) => hash));
  }

  async #copyResult(address: ResultAddress, { bytes, references, writer }: StoredResult): Promise<void> {
    const current = await this.#to.records.get(address);
    if (current && (await this.#missing(current.references)).size === 0) {
      if (!current.bytes.equals(bytes)) this.#kept++;
      return;
    }
    if (await this.#to.records.put(address, { bytes, references, writer }, current)) this.#copied.results++;
  }

  async #copyLabels(): Promise<void> {
    for (const namespace of await this.#from.labels.namespaces()) {
      await this.#copyLabelsOf(namespace);
      await this.#afterPage();
    }
  }

  /** Oldest first, because the newest is the one that was put last. */
  async #copyLabelsOf(namespace: Namespace): Promise<void> {
    const newestFirst = await Array.fromAsync(this.#from.labels.withPrefix(namespace, ''));
    for (const { label, key } of newestFirst.reverse()) {
      const current = await this.#to.labels.get({ namespace, label });
      this.#seen.labels++;
      if (current) this.#kept += current.key === key ? 0 : 1;
      else if (await this.#to.labels.put({ namespace, label }, key, undefined)) this.#copied.labels++;
    }
  }

  async #copyHistory(): Promise<void> {
    for (const kind of await this.#from.history.kinds()) {
      for (let before: string | undefined; ; ) {
        const page = await this.#from.history.page({ kind, before, limit: STORE.copiedDocuments });
        for (const document of page.documents) {
          const current = await this.#to.history.get(kind, document.id, [document.namespace]);
          this.#seen.documents++;
          if (current) continue;
          await this.#to.history.put([document]);
          this.#copied.documents++;
        }
        await this.#afterPage();
        before = page.position;
        if (before === undefined) break;
      }
    }
  }
}

interface LackingBlob {
  readonly digest: Digest;
  readonly views: Blobs[];
}

/** The last hash that is less. Undefined before the first. */
function hashBefore(hash: Hash): Hash | undefined {
  const number = BigInt(`0x${hash}`);
  return number === 0n ? undefined : parseHash((number - 1n).toString(16).padStart(hash.length, '0'));
}

/** Errors about one blob of the source. Others are failures of a store, and end the copy. */
const UNREADABLE: ReadonlySet<string> = new Set(['ASSAY_BLOB_CORRUPT', 'ASSAY_NOT_FOUND']);
