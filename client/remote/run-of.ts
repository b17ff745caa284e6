// Asks an Assay server for a run that was reported to it. A person waits for the answer: every fault is an error.
import { AssayError, messageOf } from '../../core/errors.ts';
import { RUNS_PATH } from '../../core/metadata/run-report.ts';
import type { ReportedStep } from '../../core/metadata/run-report-schema.ts';
import { REPORT } from '../limits.ts';
import { authorization } from './authorization.ts';
import { serverAddress } from './url.ts';

interface ReportedRun {
  readonly startedAt: string;
  readonly namespace: string;
  readonly outcome: string;
  readonly tool: string;
  readonly source: 'reported' | 'grouped';
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly warnings: readonly string[];
  readonly stepList: readonly ReportedStep[];
}

/** The run's page. It holds nothing of the remote's address but the server. */
export function pageOf(id: string, url: URL): string {
  return `${serverAddress(url)}/runs/${id}`;
}

export async function runOf(
  id: string,
  { url, token }: { readonly url: URL; readonly token: string | undefined },
): Promise<ReportedRun> {
  const base = serverAddress(url);
  const { status, text } = await ask(`${base}${RUNS_PATH}/${id}`, authorization(url, token));
  if (status === 404)
    throw new AssayError(
      'ASSAY_NO_HISTORY',
      `${base} has no run ${id} that this token may read, or no longer`,
    );
  const run = status === 200 ? parse(text) : undefined;
  if (!run) throw new AssayError('ASSAY_NO_ANSWER', `${base}: status ${status}, and no run`);
  return run;
}

async function ask(
  address: string,
  headers: Record<string, string>,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const { request } = await import('undici');
    const answer = await request(address, { headers, signal: AbortSignal.timeout(REPORT.askedMs) });
    return { status: answer.statusCode, text: await answer.body.text() };
  } catch (error) {
    throw new AssayError('ASSAY_NO_ANSWER', `${new URL(address).host}: ${messageOf(error)}`);
  }
}

function parse(text: string): ReportedRun | undefined {
  try {
    const run: ReportedRun = JSON.parse(text);
    return Array.isArray(run.stepList) ? run : undefined;
  } catch {
    return undefined;
  }
}
