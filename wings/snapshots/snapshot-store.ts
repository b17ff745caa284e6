// Snapshots by label, in the local store and at the remote if there is one. A label is immutable, and is
// found by prefix, newest first. A snapshot that is missing or invalid is skipped.

import type { FileDigests } from '../../client/files/file-digest.ts';
import type { Output } from '../../client/outputs/outputs.ts';
import { restoreOutputs } from '../../client/outputs/restore.ts';
import { fetchContent, type ReadTree } from '../../client/remote/fetch-content.ts';
import type { FencedBy, RemoteLabels } from '../../client/remote/labels.ts';
import { handleFault, type Remote, RemoteFault } from '../../client/remote/remote.ts';
import { upload } from '../../client/remote/transfer.ts';
import { putLocally } from '../../client/run/publish.ts';
import type { Report } from '../../client/terminal/events.ts';
import { type Digest, digestOf } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { RelPath } from '../../core/path.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../core/result.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store } from '../../store/store.ts';
import { madeInMs, outputsIn, type Snapshot, takenAt } from './snapshot.ts';

export interface SnapshotRemote {
  readonly remote: Remote;
  readonly labels: RemoteLabels;
}

interface SnapshotStoreOptions {
  /** The namespace in the local store, and below the remote's own. */
  readonly namespace: Namespace;
  /** Restores only snapshots whose paths this function accepts; by default all. */
  readonly fits?: Fits | undefined;
  /** The mtime of restored files, unless all of them are in place; by default the time of writing. */
  readonly time?: Date | undefined;
  readonly store: Store;
  readonly elsewhere?: SnapshotRemote | undefined;
  readonly digests: FileDigests;
  readonly report: Report;
  /** Called for a snapshot that can't be restored; by default it is reported as a result that is unusable. */
  readonly onRefused?: OnRefused | undefined;
}

export type OnRefused = (label: string, why: string) => void;

/** Gets the paths of a snapshot, sorted. */
export type Fits = (paths: readonly RelPath[]) => boolean;

export interface Restored {
  readonly label: string;
  readonly from: 'local' | 'remote';
  readonly paths: readonly RelPath[];
  /** How many of its paths were written; the others were already correct. */
  readonly written: number;
  /** How long its content took to make; 0 if unknown. */
  readonly madeInMs: number;
}

type LabelAt = Pick<Restored, 'label' | 'from'>;

export class SnapshotStore {
  readonly #namespace: Namespace;
  readonly #fits: Fits;
  readonly #time: Date | undefined;
  readonly #store: Store;
  readonly #remoteSide: SnapshotRemote | undefined;
  readonly #digests: FileDigests;
  readonly #report: Report;
  readonly #onRefused: OnRefused;
  #isStopped = false;
  #sharing: Promise<boolean> | undefined;

  constructor({
    namespace,
    fits = () => true,
    time,
    store,
    elsewhere,
    digests,
    report,
    onRefused = (_, why) => report({ type: 'hit-unusable', why }),
  }: SnapshotStoreOptions) {
    this.#namespace = namespace;
    this.#fits = fits;
    this.#time = time;
    this.#store = store;
    this.#remoteSide = elsewhere;
    this.#digests = digests;
    this.#report = report;
    this.#onRefused = onRefused;
  }

  /**
   * Durable in the local store when it resolves. `taken`: the label already names a snapshot, which stays.
   */
  async save(label: string, snapshot: Snapshot): Promise<'saved' | 'taken'> {
    if (await this.#store.labels.newest(this.#namespace, [], label)) return 'taken';
    const key = this.#keyOf(label);
    await putLocally(snapshot.contents, this.#store.blobs);
    if ((await this.#store.results.put(this.#address(key), snapshot.bytes)) === 'diverged') return 'taken';
    const outcome = await this.#store.labels.put({ namespace: this.#namespace, label }, key.hash);
    return outcome === 'stored' ? 'saved' : 'taken';
  }

  /** Where its snapshots are, for what reads all of them. */
  get places(): Pick<SnapshotStoreOptions, 'store' | 'elsewhere'> {
    return { store: this.#store, elsewhere: this.#remoteSide };
  }

  /** Whether there is a remote that accepts snapshots. */
  get isShared(): boolean {
    return this.#usable()?.remote.takesWrites === true;
  }

  /** Cancels uploads without a report: the snapshot is no longer needed, or time is up. */
  stopSharing(): void {
    this.#isStopped = true;
    this.#remoteSide?.remote.giveUp('it is no longer needed');
  }

  /**
   * Uploads a snapshot that the local store has. False if the remote refused it, or has another with that
   * label.
   */
  share(label: string, snapshot: Snapshot, fenced?: FencedBy): Promise<boolean> {
    const sharing = this.#share(label, snapshot, fenced);
    this.#sharing = sharing;
    return sharing;
  }

  /** Uploads an earlier snapshot, unless the remote has it. */
  async shareStored(label: string): Promise<boolean> {
    const away = this.#usable();
    const stored = await this.#store.results.get(this.#address(this.#keyOf(label)));
    if (!away || !stored) return false;
    try {
      if (await away.remote.getResult(this.#keyOf(label))) return true;
    } catch (error) {
      this.#giveUp(away, error);
      return false;
    }
    return this.#send(label, stored.bytes, stored.references);
  }

  #share(label: string, { bytes, contents }: Snapshot, fenced: FencedBy | undefined): Promise<boolean> {
    return this.#send(
      label,
      bytes,
      contents.map(({ digest }) => digest),
      fenced,
    );
  }

  async #send(
    label: string,
    bytes: Uint8Array,
    digests: readonly Digest[],
    fenced?: FencedBy,
  ): Promise<boolean> {
    const away = this.#usable();
    if (!away?.remote.takesWrites) return false;
    try {
      await upload(digests, this.#store.blobs, away.remote, this.#report);
      await away.remote.putResult(this.#keyOf(label), bytes);
      const outcome = await away.labels.put({ label, key: this.#keyOf(label).hash }, fenced);
      const why = REFUSALS[outcome];
      if (why !== undefined)
        this.#report({ type: 'label-refused', what: `${this.#namespace} ${label}`, why });
      return outcome === 'stored' || outcome === 'unknown';
    } catch (error) {
      this.#giveUp(away, error);
      return false;
    }
  }

  /** Restores the snapshot `exact`, else the newest of the first prefix that has one. */
  async restore(
    root: string,
    exact: string | undefined,
    prefixes: readonly string[],
  ): Promise<Restored | undefined> {
    const refused = new Set<string>();
    for await (const candidate of this.#candidates(exact, prefixes, refused)) {
      const restored = await this.restoreFrom(root, candidate);
      if (restored) return restored;
      refused.add(nameOf(candidate));
    }
    return undefined;
  }

  /** The newest label with this prefix, here or at the remote. */
  async newestLabel(prefix: string): Promise<string | undefined> {
    const [first] = await this.#newest([prefix]);
    return first?.label;
  }

  /** All labels with this prefix, also of snapshots that can't be restored. The newest of each place first. */
  async all(prefix: string, onlyLocal = false): Promise<LabelAt[]> {
    const found: LabelAt[] = [];
    for await (const { namespace, label } of this.#store.review?.labels() ?? [])
      if (namespace === this.#namespace && label.startsWith(prefix)) found.push({ label, from: 'local' });
    const away = onlyLocal ? undefined : this.#usable();
    for (const label of (await away?.labels.all(prefix)) ?? []) found.push({ label, from: 'remote' });
    return found;
  }

  /** The snapshot with this label; undefined if it can't be restored. */
  async restoreFrom(root: string, candidate: LabelAt): Promise<Restored | undefined> {
    const restored = await this.#restoreOne(root, candidate);
    return restored && { ...candidate, ...restored };
  }

  /** What a restore of this label would write; undefined if the local store does not have it. */
  async outputsOf(label: string): Promise<Output[] | undefined> {
    const bytes = await this.#local(label);
    return bytes && this.#outputsIn(bytes);
  }

  async close(): Promise<void> {
    await this.#remoteSide?.remote.close();
    await this.#sharing;
  }

  /** Drops the content. The label stays and leads to an empty snapshot. `isLabelled`: also if it is damaged. */
  async drop(label: string, isLabelled = false): Promise<void> {
    const key = this.#keyOf(label);
    if (!isLabelled && !(await this.#store.results.get(this.#address(key)))) return;
    await this.#store.results.put(this.#address(key), NOTHING, { replace: true });
  }

  /** After a refused candidate the stores are asked again, until they offer nothing new. */
  async *#candidates(
    exact: string | undefined,
    prefixes: readonly string[],
    refused: ReadonlySet<string>,
  ): AsyncGenerator<LabelAt> {
    if (exact !== undefined) {
      yield { label: exact, from: 'local' };
      yield { label: exact, from: 'remote' };
    }
    for (let left = prefixes; left.length > 0; ) {
      const found = await this.#newest(left);
      const [first] = found;
      if (!first) return;
      const nearest = prefixIndex(left, first);
      const fresh = found.find(
        (candidate) => prefixIndex(left, candidate) === nearest && !refused.has(nameOf(candidate)),
      );
      if (fresh) yield fresh;
      else left = left.slice(nearest + 1);
    }
  }

  /** The newest local and the newest remote snapshot, ordered by prefix, then by time. */
  async #newest(prefixes: readonly string[]): Promise<LabelAt[]> {
    const found: (LabelAt & { takenAt: number })[] = [];
    const local = await this.#store.labels.newest(this.#namespace, prefixes);
    const stored = local && (await this.#store.results.get(this.#address(this.#keyOf(local.label))));
    if (local && stored) found.push({ label: local.label, from: 'local', takenAt: takenAt(stored.bytes) });
    const away = this.#usable();
    try {
      const remote = await away?.labels.newest(prefixes);
      const bytes = remote && (await away?.remote.getResult(this.#keyOf(remote.label)));
      if (remote && bytes) found.push({ label: remote.label, from: 'remote', takenAt: takenAt(bytes) });
    } catch (error) {
      if (away) this.#giveUp(away, error);
    }
    return found.sort((a, b) => prefixIndex(prefixes, a) - prefixIndex(prefixes, b) || b.takenAt - a.takenAt);
  }

  async #restoreOne(
    root: string,
    { label, from }: LabelAt,
  ): Promise<Pick<Restored, 'paths' | 'written' | 'madeInMs'> | undefined> {
    try {
      const bytes = from === 'local' ? await this.#local(label) : await this.#fetch(label);
      if (!bytes) return undefined;
      const outputs = await this.#outputsIn(bytes);
      if (outputs.length === 0) return undefined;
      const { written } = await restoreOutputs(outputs, root, this.#store.blobs, this.#digests, {
        time: this.#time,
      });
      return { paths: outputs.map(({ path }) => path), written, madeInMs: madeInMs(bytes) };
    } catch (error) {
      const away = this.#remoteSide;
      if (away && error instanceof RemoteFault) this.#giveUp(away, error);
      else this.#onRefused(label, messageOf(error));
      return undefined;
    }
  }

  async #local(label: string): Promise<Uint8Array | undefined> {
    return (await this.#store.results.get(this.#address(this.#keyOf(label))))?.bytes;
  }

  async #fetch(label: string): Promise<Uint8Array | undefined> {
    const away = this.#usable();
    const key = this.#keyOf(label);
    const bytes = await away?.remote.getResult(key);
    if (!away || !bytes) return undefined;
    const { blobs } = this.#store;
    const judge = (readTree: ReadTree) => this.#outputsIn(bytes, readTree);
    await fetchContent(decodeResult(bytes), blobs, away.remote, this.#report, judge);
    await this.#store.results.put(this.#address(key), bytes, { replace: true });
    await this.#store.labels.put({ namespace: this.#namespace, label }, key.hash);
    return bytes;
  }

  async #outputsIn(
    bytes: Uint8Array,
    readTree: ReadTree = ({ hash }) => readBlob(hash, this.#store.blobs),
  ): Promise<Output[]> {
    const outputs = await outputsIn(bytes, readTree);
    const named = outputs.map(({ path }) => path).sort();
    if (outputs.length > 0 && !this.#fits(named)) {
      throw new AssayError(
        'ASSAY_OUTPUT_UNFIT',
        `it holds ${named.join(', ')}, which are other paths than expected`,
      );
    }
    return outputs;
  }

  #usable(): SnapshotRemote | undefined {
    return this.#remoteSide?.remote.usable ? this.#remoteSide : undefined;
  }

  #giveUp({ remote }: SnapshotRemote, error: unknown): void {
    if (!this.#isStopped) this.#report(handleFault(remote, error));
  }

  /** The key depends on the label alone, so an exact label is found on a server without labels, too. */
  #keyOf(label: string): Digest {
    return snapshotKey(this.#namespace, label);
  }

  #address(key: Digest) {
    return { namespace: this.#namespace, key: key.hash };
  }
}

/** The key of the snapshot with this label. */
export function snapshotKey(namespace: Namespace, label: string): Digest {
  return digestOf(Buffer.from(`assay ${namespace}\0${label}`));
}

/** Why a remote takes no label of this run. */
const REFUSALS: Readonly<Record<string, string>> = {
  stale: 'another run has the lease of its action now',
  leased: 'another run holds the lease of its action, and this one has none',
};

const NOTHING = ActionResult.encode(emptyResult(0)).finish();

function prefixIndex(prefixes: readonly string[], { label }: LabelAt): number {
  return prefixes.findIndex((prefix) => label.startsWith(prefix));
}

function nameOf({ label, from }: LabelAt): string {
  return `${from} ${label}`;
}
