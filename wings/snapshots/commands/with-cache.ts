// Opens the local store and the remote that the flags of a command name, and closes them after its work.
import { storeFolder } from '../../../client/local-store/store-folder.ts';
import { remoteToken } from '../../../client/remote/token.ts';
import { parseRemoteUrl } from '../../../client/remote/url.ts';
import { type Cache, openCache } from '../../../client/run/caches.ts';
import { Reporter } from '../../../client/run/reporter.ts';
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import type { ParsedFlags } from '../../../core/cli/command.ts';

/** Files are restored below `root`. With `onlyLocal` the remote is not asked. */
export async function withCache<T>(
  parsed: ParsedFlags,
  root: string,
  work: (cache: Cache) => Promise<T>,
  onlyLocal = false,
): Promise<T> {
  const remote = onlyLocal ? undefined : (parsed.text('remote') ?? process.env.ASSAY_REMOTE);
  const { report } = new Reporter(new SyncStream(2), false);
  const cache = openCache({
    storeFolder: storeFolder(parsed.text('store'), process.env),
    workspace: root,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token: remoteToken(),
    now: Date.now,
    report,
  });
  try {
    return await work(cache);
  } finally {
    await cache.close();
  }
}
