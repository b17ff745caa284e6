// Opens the snapshots of one kind of snapshots: its namespace in the local store, and below the remote's own.
import type { Namespace } from '../../core/namespace.ts';
import type { Store } from '../../store/store.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { RemoteLabels } from '../remote/labels.ts';
import { openRemote } from '../remote/open.ts';
import { remoteBelow } from '../remote/url.ts';
import type { CacheOptions } from '../run/caches.ts';
import { type Fits, type SnapshotRemote, SnapshotStore } from './snapshot-store.ts';

export interface SnapshotSettings {
  readonly namespace: Namespace;
  /** Only snapshots that hold what this approves of are restored; all, where it is left out. */
  readonly fits?: Fits;
  /** Of what is restored, unless all of it is in place; that of its writing, where it is left out. */
  readonly time?: Date;
}

export async function openSnapshotStore(
  { namespace, fits, time }: SnapshotSettings,
  { remoteUrl, token, now, report }: CacheOptions,
  store: Store,
  digests: FileDigests,
): Promise<SnapshotStore> {
  let remote: SnapshotRemote | undefined;
  if (remoteUrl) {
    const options = { url: remoteBelow(remoteUrl, namespace), token, now };
    remote = { remote: await openRemote(options), labels: new RemoteLabels(options) };
  }
  return new SnapshotStore({ namespace, fits, time, store, elsewhere: remote, digests, report });
}
