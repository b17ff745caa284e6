// Sends what a bundle has to a server, into the namespace of the token: blobs, then results, path sets and labels.
// The bundle is in the local store by now, as content that nothing names, so the server gets only verified bytes, and an
// interrupted import sends nothing twice.
import { addRemotePathSet } from '../../client/path-sets/path-sets.ts';
import { remotePathSets } from '../../client/path-sets/storage.ts';
import { RemoteLabels } from '../../client/remote/labels.ts';
import { openRemote } from '../../client/remote/open.ts';
import { type Remote, RemoteFault, WriteRefused } from '../../client/remote/remote.ts';
import { upload } from '../../client/remote/transfer.ts';
import { remoteBelow } from '../../client/remote/url.ts';
import type { Hash } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace } from '../../core/namespace.ts';
import { decodePathSet, recordedState } from '../../core/path-set.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store } from '../../store/store.ts';
import type { BundleManifest } from './import/manifest.ts';
import type { Destination } from './import/publish.ts';
import { BUNDLE } from './limits.ts';

export interface RemotePlace {
  readonly url: URL;
  readonly token: string | undefined;
}

/** The remotes of one place: one for each kind of results. */
export class RemoteKinds {
  readonly #place: RemotePlace;
  readonly #bundle: Hash | undefined;
  readonly #opened = new Map<Namespace, Promise<Remote>>();

  /** `bundle`: the server records it as the writer of all that it stores. */
  constructor(place: RemotePlace, bundle?: Hash) {
    this.#place = place;
    this.#bundle = bundle;
  }

  at(kind: Namespace): Promise<Remote> {
    const opened = this.#opened.get(kind) ?? openRemote(this.#options(kind));
    this.#opened.set(kind, opened);
    return opened;
  }

  labels(kind: Namespace): RemoteLabels {
    return new RemoteLabels(this.#options(kind));
  }

  async close(): Promise<void> {
    for (const remote of this.#opened.values()) await (await remote).close();
  }

  #options(kind: Namespace) {
    const { url, token } = this.#place;
    const place = { url: kind === '' ? url : remoteBelow(url, kind), token, now: Date.now };
    return { ...place, ...(this.#bundle && { bundle: this.#bundle }) };
  }
}

/** Every fault of the server is an error that a person sees. */
export async function orRemoteFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WriteRefused) throw new AssayError('ASSAY_FORBIDDEN', messageOf(error));
    if (error instanceof RemoteFault) throw new AssayError('ASSAY_NO_ANSWER', messageOf(error));
    throw error;
  }
}

export async function remoteDestination(
  kinds: RemoteKinds,
  { blobs: table }: BundleManifest,
  store: Store,
  onSent: (blobs: number, of: number) => void,
): Promise<Destination> {
  const own = await kinds.at(DEFAULT_NAMESPACE);
  for (let from = 0; from < table.length; from += BUNDLE.askedAtOnce) {
    const page = [...table.rows(from, from + BUNDLE.askedAtOnce)];
    await orRemoteFault(upload(page, store.blobs, own, () => {}));
    onSent(Math.min(table.length, from + page.length), table.length);
  }
  const slots = remotePathSets(own, store, () => {});
  return {
    async putResult({ in: kind, key, message }) {
      const remote = await kinds.at(kind);
      const row = table.rowOf(key);
      const digest = { hash: key, size: row === undefined ? 0 : table.sizeAt(row) };
      return orRemoteFault(remote.putResult(digest, message));
    },
    async addSet({ action, set }) {
      const decoded = decodePathSet(await readBlob(set, store.blobs));
      await orRemoteFault(addRemotePathSet(action, decoded, own, slots, recordedState));
    },
    async putLabel({ in: kind, label, key }) {
      const outcome = await kinds.labels(kind).put({ label, key });
      if (outcome === 'unknown')
        throw new AssayError('ASSAY_NO_ANSWER', `the server did not take the label ${JSON.stringify(label)}`);
      return outcome === 'stored' ? outcome : 'taken';
    },
  };
}
