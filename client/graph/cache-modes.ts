// Two restricted forms of a cache: one finds nothing but stores results (--force), one does neither ("cache":
// false).
import type { Store } from '../../store/store.ts';
import { InPlaceChecks } from '../outputs/in-place.ts';
import type { Remote } from '../remote/remote.ts';
import type { Cache } from '../run/caches.ts';

/** The command always runs. Its result is compared with the stored one, and stored. */
export function storeOnly(cache: Cache): Cache {
  return {
    ...cache,
    inPlace: new InPlaceChecks(),
    async openStore() {
      const store = await cache.openStore();
      return store && storeWithoutResults(store);
    },
    async openRemote() {
      const remote = await cache.openRemote();
      return remote && remoteWithoutResults(remote);
    },
  };
}

function remoteWithoutResults(remote: Remote): Remote {
  return {
    get usable() {
      return remote.usable;
    },
    get takesWrites() {
      return remote.takesWrites;
    },
    getResult: async () => undefined,
    giveUp: (why) => remote.giveUp(why),
    putResult: (key, result) => remote.putResult(key, result),
    getBlobs: (digests, keep) => remote.getBlobs(digests, keep),
    putBlobs: (digests, read, settled) => remote.putBlobs(digests, read, settled),
    close: () => remote.close(),
  };
}

function storeWithoutResults(store: Store): Store {
  return { ...store, results: { ...store.results, get: async () => undefined } };
}

export function disabled(cache: Cache): Cache {
  return {
    ...cache,
    inPlace: new InPlaceChecks(),
    openStore: async () => undefined,
    openRemote: async () => undefined,
    addToHistory() {},
  };
}
