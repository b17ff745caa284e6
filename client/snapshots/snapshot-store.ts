// Snapshots by their labels: in the local store, and at the remote if there is one. A label is immutable, and is found by
// its beginning, newest first. What can't be had or can't be trusted is passed over.
import { type Digest, digestOf } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { RelPath } from '../../core/path.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../core/result.ts';
import type { Store } from '../../store/store.ts';
import type { FileDigests } from '../files/file-digest.ts';
import type { Output } from '../outputs/outputs.ts';
import { restoreOutputs } from '../outputs/restore.ts';
import { fetchContent } from '../remote/fetch-content.ts';
import type { RemoteLabels } from '../remote/labels.ts';
import { handleFault, type Remote, RemoteFault } from '../remote/remote.ts';
import { upload } from '../remote/transfer.ts';
import { putLocally } from '../run/publish.ts';
import type { Report } from '../terminal/events.ts';
import { madeInMs, outputsIn, type Snapshot, takenAt } from './snapshot.ts';

export interface SnapshotRemote {
  readonly remote: Remote;
  readonly labels: RemoteLabels;
}

export interface SnapshotStoreOptions {
  /** Local and, below the remote's own, remote. */
  readonly namespace: Namespace;
  /** Only snapshots that hold what this approves of are restored; all, where it is left out. */
  readonly fits?: Fits | undefined;
  /** Of what is restored, unless all of it is in place; that of its writing, where it is left out. */
  readonly time?: Date | undefined;
  readonly store: Store;
  readonly elsewhere?: SnapshotRemote | undefined;
  readonly digests: FileDigests;
  readonly report: Report;
}

/** What a snapshot holds, sorted. */
export type Fits = (paths: readonly RelPath[]) => boolean;

export interface Restored {
  readonly label: string;
  readonly from: 'local' | 'remote';
  readonly paths: readonly RelPath[];
  /** How many of its paths had to be written; the others were right already. */
  readonly written: number;
  /** How long it took to make what it holds; 0 where nobody has said. */
  readonly madeInMs: number;
}

type Candidate = Pick<Restored, 'label' | 'from'>;

export class SnapshotStore {
  readonly #namespace: Namespace;
  readonly #fits: Fits;
  readonly #time: Date | undefined;
  readonly #store: Store;
  readonly #remoteSide: SnapshotRemote | undefined;
  readonly #digests: FileDigests;
  readonly #report: Report;
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
  }: SnapshotStoreOptions) {
    this.#namespace = namespace;
    this.#fits = fits;
    this.#time = time;
    this.#store = store;
    this.#remoteSide = elsewhere;
    this.#digests = digests;
    this.#report = report;
  }

  /** Durable in the local store when it resolves. `taken`: the label names a snapshot already, which stays. */
  async save(label: string, snapshot: Snapshot): Promise<'saved' | 'taken'> {
    if (await this.#store.labels.newest(this.#namespace, [], label)) return 'taken';
    const key = this.#keyOf(label);
    await putLocally(snapshot.contents, this.#store.blobs);
    if ((await this.#store.results.put(this.#address(key), snapshot.bytes)) === 'diverged') return 'taken';
    const outcome = await this.#store.labels.put({ namespace: this.#namespace, label }, key.hash);
    return outcome === 'stored' ? 'saved' : 'taken';
  }

  /** Whether there is a remote that takes snapshots. */
  get isShared(): boolean {
    return this.#usable()?.remote.takesWrites === true;
  }

  /** Ends what is on its way to the remote, without a word: nobody needs it, or the time for it is over. */
  stopSharing(): void {
    this.#isStopped = true;
    this.#remoteSide?.remote.giveUp('it is not needed any more');
  }

  /** Sends a snapshot that is in the local store. False if the remote did not take it, or has another of that label. */
  share(label: string, snapshot: Snapshot): Promise<boolean> {
    const sharing = this.#share(label, snapshot);
    this.#sharing = sharing;
    return sharing;
  }

  /** Sends one that was kept before, unless the remote has it. */
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

  #share(label: string, { bytes, contents }: Snapshot): Promise<boolean> {
    return this.#send(
      label,
      bytes,
      contents.map(({ digest }) => digest),
    );
  }

  async #send(label: string, bytes: Uint8Array, digests: readonly Digest[]): Promise<boolean> {
    const away = this.#usable();
    if (!away?.remote.takesWrites) return false;
    try {
      await upload(digests, this.#store.blobs, away.remote, this.#report);
      await away.remote.putResult(this.#keyOf(label), bytes);
      return (await away.labels.put({ label, key: this.#keyOf(label).hash })) !== 'taken';
    } catch (error) {
      this.#giveUp(away, error);
      return false;
    }
  }

  /** Puts the snapshot `exact` into place, else the newest whose label begins with the first of the prefixes, else … */
  async restore(
    root: string,
    exact: string | undefined,
    prefixes: readonly string[],
  ): Promise<Restored | undefined> {
    const refused = new Set<string>();
    for await (const candidate of this.#candidates(exact, prefixes, refused)) {
      const restored = await this.#restoreOne(root, candidate);
      if (restored) return { ...candidate, ...restored };
      refused.add(nameOf(candidate));
    }
    return undefined;
  }

  /** The newest label that begins so, here or at the remote. */
  async newestLabel(prefix: string): Promise<string | undefined> {
    const [first] = await this.#newest([prefix]);
    return first?.label;
  }

  async close(): Promise<void> {
    await this.#remoteSide?.remote.close();
    await this.#sharing;
  }

  /** Takes its content away; the label stays, and leads to nothing. */
  async drop(label: string): Promise<void> {
    const key = this.#keyOf(label);
    if (!(await this.#store.results.get(this.#address(key)))) return;
    await this.#store.results.put(this.#address(key), NOTHING, { replace: true });
  }

  /** Once one was refused the store knows better: it is asked again, until it has nothing new to offer. */
  async *#candidates(
    exact: string | undefined,
    prefixes: readonly string[],
    refused: ReadonlySet<string>,
  ): AsyncGenerator<Candidate> {
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

  /** The newest of the local store and the newest of the remote; the one of an earlier prefix first, else the newer one. */
  async #newest(prefixes: readonly string[]): Promise<Candidate[]> {
    const found: (Candidate & { takenAt: number })[] = [];
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
    { label, from }: Candidate,
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
      else this.#report({ type: 'hit-unusable', why: messageOf(error) });
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
    await fetchContent(decodeResult(bytes), blobs, away.remote, this.#report, () => this.#outputsIn(bytes));
    await this.#store.results.put(this.#address(key), bytes, { replace: true });
    await this.#store.labels.put({ namespace: this.#namespace, label }, key.hash);
    return bytes;
  }

  async #outputsIn(bytes: Uint8Array): Promise<Output[]> {
    const outputs = await outputsIn(bytes, this.#store.blobs);
    const named = outputs.map(({ path }) => path).sort();
    if (outputs.length > 0 && !this.#fits(named)) {
      throw new AssayError('ASSAY_OUTPUT_UNFIT', `it holds ${named.join(', ')}, which is not what was kept`);
    }
    return outputs;
  }

  #usable(): SnapshotRemote | undefined {
    return this.#remoteSide?.remote.usable ? this.#remoteSide : undefined;
  }

  #giveUp({ remote }: SnapshotRemote, error: unknown): void {
    if (!this.#isStopped) this.#report(handleFault(remote, error));
  }

  /** Of the label alone, so that a server without labels finds an exact one too. */
  #keyOf(label: string): Digest {
    return digestOf(Buffer.from(`assay ${this.#namespace}\0${label}`));
  }

  #address(key: Digest) {
    return { namespace: this.#namespace, key: key.hash };
  }
}

const NOTHING = ActionResult.encode(emptyResult(0)).finish();

function prefixIndex(prefixes: readonly string[], { label }: Candidate): number {
  return prefixes.findIndex((prefix) => label.startsWith(prefix));
}

function nameOf({ label, from }: Candidate): string {
  return `${from} ${label}`;
}
