// Opens the snapshot store of one kind: a namespace of the local store, and the same below the remote's.

import { RemoteLabels } from '../../client/remote/labels.ts';
import { openRemote } from '../../client/remote/open.ts';
import { remoteBelow } from '../../client/remote/url.ts';
import type { Cache } from '../../client/run/caches.ts';
import type { Namespace } from '../../core/namespace.ts';
import { type Fits, type OnRefused, type SnapshotRemote, SnapshotStore } from './snapshot-store.ts';

interface SnapshotSettings {
  readonly namespace: Namespace;
  /** Restores only snapshots whose paths this function accepts; by default all. */
  readonly fits?: Fits;
  /** The mtime of restored files, unless all of them are in place; by default the time of writing. */
  readonly time?: Date;
  /** Called for a snapshot that can't be restored; by default it is reported as a result that is unusable. */
  readonly onRefused?: OnRefused;
}

/** Undefined if the local store is unusable. It closes with the cache. */
export function openSnapshotStore(
  { namespace, fits, time, onRefused }: SnapshotSettings,
  cache: Pick<Cache, 'openBeside'>,
): Promise<SnapshotStore | undefined> {
  return cache.openBeside(async ({ remoteUrl, token, now, report, store, digests }) => {
    let remote: SnapshotRemote | undefined;
    if (remoteUrl) {
      const options = { url: remoteBelow(remoteUrl, namespace), token, now };
      remote = { remote: await openRemote(options), labels: new RemoteLabels(options) };
    }
    return new SnapshotStore({ namespace, fits, time, store, elsewhere: remote, digests, report, onRefused });
  });
}
