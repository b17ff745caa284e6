// Runs one action unless it is up to date. An up-to-date action replays its log and goes into the history.
// For any other action the caches, and the code that needs them, are loaded (run-with-caches.ts).
import { join } from 'node:path';
import type { RunRequest } from '../action/request.ts';
import { historyOf } from '../history/history.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import { hasOutbox } from '../local-store/outbox.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import type { ReportTarget } from '../report/send.ts';
import type { RunContext } from '../run/context.ts';
import { replay } from '../run/log.ts';
import type { RunSummary } from '../run/run.ts';
import { ActionState, type UpToDateHit } from './action-state.ts';

export interface RunOptions
  extends Pick<RunContext, 'caller' | 'stdout' | 'stderr' | 'report' | 'signal' | 'throwIfCancelled'> {
  readonly storeFolder: string;
  readonly remote?: string | undefined;
  readonly token?: string | undefined;
  /** Run the command whatever is stored (--force). */
  readonly force?: boolean | undefined;
  /** Called at the end if this run asked a server that takes reports. Resolves to the address of the run's page. */
  readonly sendReport?: (summary: RunSummary, target: ReportTarget) => Promise<string | undefined>;
}

export async function runUnlessUpToDate(request: RunRequest, options: RunOptions): Promise<RunSummary> {
  const began = Date.now();
  const remoteUrl = options.remote ? parseRemoteUrl(options.remote) : undefined;
  const state = new ActionState(join(clientFolder(options.storeFolder), 'actions'), options.caller);
  const hit = options.force ? undefined : state.lookup(request);
  if (hit) {
    const summary = finish(hit, request, options, began);
    if (remoteUrl && hasOutbox(options.storeFolder)) await share(request, remoteUrl, options);
    return summary;
  }
  const { runWithCaches } = await import('./run-with-caches.ts');
  return runWithCaches(request, { ...options, remoteUrl, state });
}

/** Shares the results that earlier runs left in the outbox. */
async function share({ workspace }: RunRequest, remoteUrl: URL, options: RunOptions): Promise<void> {
  const { storeFolder, token, report } = options;
  const { sendUnshared } = await import('../maintenance/push.ts');
  const cacheOptions = { storeFolder, workspace, remoteUrl, token, now: Date.now, report };
  const { unshared: results, why } = await sendUnshared(cacheOptions);
  if (results > 0) report({ type: 'unshared', results, why });
}

function finish(found: UpToDateHit, request: RunRequest, options: RunOptions, began: number): RunSummary {
  const { log, step, ...hit } = found;
  replay(log, options);
  const { key, commandMs } = hit;
  historyOf(options.storeFolder).append(request, { ...IN_PLACE, key, step, commandMs, at: began });
  return { ...hit, ...IN_PLACE, ...NOTHING_DONE, elapsedMs: Date.now() - began };
}

const IN_PLACE = { outcome: 'hit-local', reason: 'found in place' } as const;
const NOTHING_DONE = { published: false, shared: false, outputsWritten: 0 } as const;
