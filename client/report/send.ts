// Sends the report of a run to the remote's server. Whatever fails, the run goes on as if there were no reports.
import { RUNS_PATH } from '../../core/metadata/run-report.ts';
import type { RunReport } from '../../core/metadata/run-report-schema.ts';
import type { Store } from '../../store/store.ts';
import { REPORT } from '../limits.ts';
import { authorization } from '../remote/authorization.ts';
import type { Remote } from '../remote/remote.ts';
import { serverAddress } from '../remote/url.ts';

export interface ReportTarget {
  readonly url: URL;
  readonly token: string | undefined;
  readonly remote: Remote;
  /** The local store. */
  openStore(): Promise<Store | undefined>;
}

/** The address of the run's page. Undefined if the server did not take the report in time. */
export async function sendReport(
  report: RunReport,
  { url, token }: Pick<ReportTarget, 'url' | 'token'>,
): Promise<string | undefined> {
  const base = serverAddress(url);
  const namespace = url.pathname.replace(/^\/+|\/+$/g, '');
  try {
    const { request } = await import('undici');
    const answer = await request(`${base}${RUNS_PATH}?${new URLSearchParams({ namespace })}`, {
      method: 'POST',
      headers: { ...authorization(url, token), 'content-type': 'application/json' },
      body: JSON.stringify(report),
      signal: AbortSignal.timeout(waitMs(report.elapsedMs)),
    });
    await answer.body.dump();
    return answer.statusCode === 201 ? `${base}/runs/${report.id}` : undefined;
  } catch {
    return undefined;
  }
}

/** A longer run may wait longer. */
export function waitMs(elapsedMs: number): number {
  return Math.ceil(Math.min(REPORT.maxWaitMs, REPORT.waitMs + elapsedMs * REPORT.waitShare));
}
