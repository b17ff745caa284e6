// Uploads results that earlier runs could not, for a run that does not use the remote otherwise.
import { type CacheOptions, openCache, type UploadSummary } from '../run/caches.ts';
import type { FinishOptions } from '../run/uploads.ts';

/** Within the upload time of a run. */
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

/** Without a time limit, as long as the remote answers. */
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
