// Uploads results that earlier runs could not, for a run that does not use the remote otherwise.
import { MadeHere, type MadeResult } from '../local-store/made-here.ts';
import { Outbox } from '../local-store/outbox.ts';
import { type CacheOptions, openCache, type UploadSummary } from '../run/caches.ts';
import type { FinishOptions } from '../run/uploads.ts';

/** Within the upload time of a run. `hits`: the keys of its actions that were up to date. */
export async function sendUnshared(
  options: CacheOptions,
  hits: readonly string[] = [],
): Promise<UploadSummary> {
  const cache = openCache(options);
  try {
    return await cache.finishUploads(options.now(), { ...sayingHow(options), hits });
  } finally {
    await cache.close();
  }
}

interface Pushed {
  readonly shared: number;
  readonly unshared: number;
  readonly why: string;
}

/**
 * Without a time limit, as long as the remote answers. `wanted`: also those results that were made without any remote,
 * whichever remote has got them since.
 */
export async function push(options: CacheOptions, wanted?: (made: MadeResult) => boolean): Promise<Pushed> {
  const cache = openCache(options);
  try {
    const uploads = await cache.openUploads();
    const { storeFolder, remoteUrl, token } = options;
    const store = wanted && (await cache.openStore());
    if (wanted && store && remoteUrl)
      await new MadeHere(storeFolder).offer(store, new Outbox(storeFolder, remoteUrl, token), wanted);
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
