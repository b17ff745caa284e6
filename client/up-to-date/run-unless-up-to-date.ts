// One run with everything that belongs to it. An action that is remembered to be in place is only looked at;
// the caches, and all that a run needs, are loaded and opened for the others.
import { join } from 'node:path';
import type { RunRequest } from '../action/request.ts';
import { historyOf } from '../history/history.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import { hasOutbox } from '../local-store/outbox.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import type { RunContext } from '../run/context.ts';
import { replay } from '../run/log.ts';
import type { RunSummary } from '../run/run.ts';
import { ActionState, type UpToDateHit } from './action-state.ts';

export interface RunOptions
  extends Pick<RunContext, 'caller' | 'stdout' | 'stderr' | 'report' | 'signal' | 'throwIfCancelled'> {
  readonly storeFolder: string;
  readonly remote?: string | undefined;
  readonly token?: string | undefined;
  /** Run the command, whatever is stored. */
  readonly force?: boolean | undefined;
}

export async function runUnlessUpToDate(request: RunRequest, attendance: RunOptions): Promise<RunSummary> {
  const began = Date.now();
  const remoteUrl = attendance.remote ? parseRemoteUrl(attendance.remote) : undefined;
  const state = new ActionState(join(clientFolder(attendance.storeFolder), 'actions'), attendance.caller);
  const known = attendance.force ? undefined : state.lookup(request);
  if (known) {
    const summary = finish(known, request, attendance, began);
    if (remoteUrl && hasOutbox(attendance.storeFolder)) await share(request, remoteUrl, attendance);
    return summary;
  }
  const { runWithCaches } = await import('./run-with-caches.ts');
  return runWithCaches(request, { ...attendance, remoteUrl, state });
}

/** What earlier runs could not: this one has no other use for the remote. */
async function share({ workspace }: RunRequest, remoteUrl: URL, attendance: RunOptions): Promise<void> {
  const { storeFolder, token, report } = attendance;
  const { sendUnshared } = await import('../maintenance/push.ts');
  const options = { storeFolder, workspace, remoteUrl, token, now: Date.now, report };
  const { unshared: results, why } = await sendUnshared(options);
  if (results > 0) report({ type: 'unshared', results, why });
}

function finish(known: UpToDateHit, request: RunRequest, attendance: RunOptions, began: number): RunSummary {
  const { log, step, ...hit } = known;
  replay(log, attendance);
  const { key, commandMs } = hit;
  historyOf(attendance.storeFolder).append(request, { ...IN_PLACE, key, step, commandMs, at: began });
  return { ...hit, ...IN_PLACE, ...NOTHING_DONE, elapsedMs: Date.now() - began };
}

const IN_PLACE = { outcome: 'hit-local', reason: 'found in place' } as const;
const NOTHING_DONE = { published: false, shared: false, outputsWritten: 0 } as const;
