// Sends what earlier runs could not share, for whoever does nothing else with a remote.
import { type CacheOptions, openCache, type UploadSummary } from '../run/caches.ts';
import type { FinishOptions } from '../run/uploads.ts';

/** Within the time that a run has for it. */
export async function sendUnshared(options: CacheOptions): Promise<UploadSummary> {
  const cache = openCache(options);
  try {
    return await cache.finishUploads(options.now(), sayingHow(options));
  } finally {
    await cache.close();
  }
}

export interface Pushed {
  readonly shared: number;
  readonly unshared: number;
  readonly why: string;
}

/** However long it takes, as long as the remote answers. */
export async function push(options: CacheOptions): Promise<Pushed> {
  const cache = openCache(options);
  try {
    const uploads = await cache.openUploads();
    const earlier = uploads?.addEarlier(options.report) ?? 0;
    const left = await uploads?.finish(undefined, sayingHow(options));
    const unshared = left?.results ?? 0;
    return { shared: earlier - unshared, unshared, why: left?.why ?? '' };
  } finally {
    await cache.close();
  }
}

function sayingHow({ report }: CacheOptions): FinishOptions {
  return { sending: (results) => report({ type: 'sending', results }) };
}
