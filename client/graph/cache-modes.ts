// A cache as some steps see it: one that finds nothing but keeps all (--force), and one that does neither ("cache": false).
import type { Store } from '../../store/store.ts';
import { HitMemos } from '../outputs/in-place.ts';
import type { Remote } from '../remote/remote.ts';
import type { Cache } from '../run/caches.ts';

/** The command runs; its result is compared with what is stored, and is kept. */
export function forced(cache: Cache): Cache {
  return {
    ...cache,
    inPlace: new HitMemos(),
    async openStore() {
      const store = await cache.openStore();
      return store && findingNothing(store);
    },
    async openRemote() {
      const remote = await cache.openRemote();
      return remote && answeringNothing(remote);
    },
  };
}

function answeringNothing(remote: Remote): Remote {
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

function findingNothing(store: Store): Store {
  return { ...store, results: { ...store.results, get: async () => undefined } };
}

export function unused(cache: Cache): Cache {
  return {
    ...cache,
    inPlace: new HitMemos(),
    openStore: async () => undefined,
    openRemote: async () => undefined,
    addToHistory() {},
  };
}
