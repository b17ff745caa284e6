// Opens the shelf of one kind of snapshots: its namespace in the local store, and below the remote's own.
import type { Namespace } from '../../core/namespace.ts';
import type { RelPath } from '../../core/path.ts';
import type { Store } from '../../store/store.ts';
import type { CacheOptions } from '../cache.ts';
import type { FileDigests } from '../inputs/file-digest.ts';
import { RemoteLabels } from '../remote/labels.ts';
import { openRemote } from '../remote/open.ts';
import { remoteBelow } from '../remote/url.ts';
import { type Elsewhere, Shelf } from './shelf.ts';

export interface ShelfNeeds {
  readonly namespace: Namespace;
  /** Only snapshots of exactly these are restored; all, where this is left out. */
  readonly paths?: readonly RelPath[];
}

export async function openShelf(
  { namespace, paths }: ShelfNeeds,
  { remoteUrl, token, now, report }: CacheOptions,
  store: Store,
  digests: FileDigests,
): Promise<Shelf> {
  let elsewhere: Elsewhere | undefined;
  if (remoteUrl) {
    const options = { url: remoteBelow(remoteUrl, namespace), token, now };
    elsewhere = { remote: await openRemote(options), labels: new RemoteLabels(options) };
  }
  return new Shelf({ namespace, paths, store, elsewhere, digests, report });
}
