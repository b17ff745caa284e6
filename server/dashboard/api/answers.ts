// The answers of /api/v1, as functions of a request. The pages call the same functions.
// Guarantee: each answer holds what the request's identity may read.
import { isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { RunReport } from '../../../core/metadata/run-report.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';
import type { Exchange } from '../../http/exchange.ts';
import { DASHBOARD } from '../../limits.ts';
import type { Reports } from '../runs/keep-report.ts';
import { rankMisses } from '../runs/misses.ts';
import { listRuns, type RunsQuery, showRun } from '../runs/runs.ts';
import type { Misses, Reported, Run, Runs } from './types.ts';

const DAY = 24 * 60 * 60 * 1000;

export interface Period {
  /** Until now. */
  readonly days?: number | undefined;
}

export async function reportRun(
  exchange: Exchange,
  reports: Reports,
  report: RunReport,
  namespace: string,
): Promise<Reported> {
  const { store, server } = exchange;
  const requested = parseRequestedNamespace(namespace);
  const sender = { namespace: store.ownNamespace(requested), identity: store.identity.name };
  const mayReadBlobs = store.identity.rights.has('blobs:read');
  const context = {
    history: historyOf(exchange),
    sender,
    readable: store.readable,
    blobs: mayReadBlobs ? store.blobs : undefined,
    now: Date.now(),
  };
  await server.lifecycle.whileWriting(async () => {
    const { explained } = await reports.keep(report, context);
    server.lifecycle.whileWriting(() => explained);
  });
  return { id: report.id, url: `${addressOf(exchange)}/runs/${report.id}` };
}

export function runs(exchange: Exchange, query: Partial<RunsQuery>): Promise<Runs> {
  const limit = Math.min(query.limit ?? DASHBOARD.listedRuns, DASHBOARD.maxListedRuns);
  return listRuns(historyOf(exchange), exchange.store.readable, { ...query, limit });
}

export function run(exchange: Exchange, id: string): Promise<Run> {
  const { store } = exchange;
  const mayReadBlobs = store.identity.rights.has('blobs:read');
  const isStored = async (key: string) =>
    mayReadBlobs && isHash(key) && (await store.blobs.get(key)) !== undefined;
  return showRun(historyOf(exchange), store.readable, id, isStored);
}

export function misses(exchange: Exchange, { days = 7 }: Period): Promise<Misses> {
  const to = Date.now();
  const from = to - Math.min(days, DASHBOARD.maxDays) * DAY;
  return rankMisses(historyOf(exchange), exchange.store.readable, { from, to });
}

export function historyOf({ server: { wholeStore } }: Exchange): History {
  if (wholeStore.history) return wholeStore.history;
  throw new AssayError('ASSAY_NOT_FOUND', 'the store of this server keeps no history');
}

/** As the client addresses the server. */
export function addressOf({ request }: Exchange): string {
  const isEncrypted = 'encrypted' in request.socket;
  return `${isEncrypted ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`;
}
