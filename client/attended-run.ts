// One run with everything that belongs to it: the caches are opened for it and closed after it.
import { openCache } from './cache.ts';
import type { RunContext } from './context.ts';
import { parseRemoteUrl } from './remote/url.ts';
import type { RunRequest } from './request.ts';
import { type RunSummary, run } from './run.ts';

export interface Attendance extends Pick<RunContext, 'caller' | 'stdout' | 'stderr' | 'report'> {
  readonly storeFolder: string;
  readonly remote?: string | undefined;
  readonly token?: string | undefined;
}

export async function runRequest(request: RunRequest, attendance: Attendance): Promise<RunSummary> {
  const { storeFolder, remote, token, caller, stdout, stderr, report } = attendance;
  const cache = openCache({
    storeFolder,
    workspace: request.workspace,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token,
    now: Date.now,
    report,
  });
  try {
    return await run(request, { cache, caller, stdout, stderr, report, now: Date.now });
  } finally {
    await cache.close();
  }
}
