// Two restricted forms of a cache: one finds nothing but stores results (--force), one does neither ("cache":
// false).

import type { Cache } from './caches.ts';
import { InPlaceChecks } from './in-place.ts';

/** The command always runs. Its result is compared with the stored ones, and stored. */
export function storeOnly(cache: Cache): Cache {
  return { ...cache, inPlace: new InPlaceChecks(), findsNothing: true };
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
