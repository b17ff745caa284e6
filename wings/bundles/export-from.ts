// Collects what an export takes: from the local store, from the store of a server on this machine, or from a server.
import { currentFolder } from '../../client/files/current-folder.ts';
import { placeOf } from '../../client/run/run-origin.ts';
import { AssayError } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, namespaceBelow } from '../../core/namespace.ts';
import { counted } from '../../core/text/amounts.ts';
import { VERSION } from '../../core/version.ts';
import type { Store } from '../../store/store.ts';
import { type Collected, collectBundle } from './export/collect.ts';
import { privateSets } from './export/private-sets.ts';
import { type RecordSource, storeSource } from './export/source.ts';
import type { WantedResult } from './export/wanted.ts';
import type { Maker } from './format/records.ts';
import type { ShownProgress } from './progress.ts';
import type { RemotePlace } from './remote-destination.ts';

export interface From {
  /** From a server, its content passes through this store. */
  readonly store: Store;
  readonly folder: string;
  readonly wanted: WantedResult;
  readonly progress: ShownProgress;
  /** The server. Undefined: the store itself. */
  readonly place: RemotePlace | undefined;
  /** In the store of a server. */
  readonly identity: Namespace;
}

export async function collectFrom(from: From): Promise<Collected> {
  const { store, folder, wanted, progress, place, identity } = from;
  const onResult = (done: number) =>
    progress.show({ doing: 'results', done }, () => `${counted(done, 'result')} found`);
  const options = { blobs: store.blobs, made: madeHere(), onResult };
  if (!place) {
    /* The clients of a server decided what they sent to it. */
    const isPrivate = identity === '' ? privateSets(folder, currentFolder()) : () => false;
    return collectBundle({ ...options, records: storeRecords(from), isPrivate });
  }
  const { RemoteKinds } = await import('./remote-destination.ts');
  const { serverRecords } = await import('./remote-records.ts');
  const kinds = new RemoteKinds(place);
  const records = await serverRecords(place, wanted, kinds, store);
  try {
    return await collectBundle({ ...options, records, isPrivate: () => false });
  } finally {
    records.close();
    await kinds.close();
  }
}

export function storeRecords({ store: { review, results }, wanted, identity }: From): RecordSource {
  if (!review) throw new AssayError('ASSAY_INTERNAL', 'a store on disk can be reviewed');
  const own: Pick<Store['results'], 'get'> = {
    get: ({ namespace, key }) => results.get({ namespace: namespaceBelow(identity, namespace), key }),
  };
  return storeSource({ review, results: own, wanted, within: { identity, requested: DEFAULT_NAMESPACE } });
}

export function madeHere(): Maker {
  return { at: new Date().toISOString(), assay: VERSION, where: placeOf(process.env) ?? '' };
}
