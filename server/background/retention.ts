// Background job: removes old documents of the history, and the oldest ones if the history takes too much.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { History } from '../../store/history.ts';
import { STORE } from '../../store/limits.ts';
import { HISTORY_DOCUMENTS, historyShare } from '../limits.ts';

/** How long each kind is kept. */
export const KEPT_MS: Readonly<Record<string, number>> = {
  run: HISTORY_DOCUMENTS.keptMs,
  'run-details': HISTORY_DOCUMENTS.keptMs,
  'run-lookups': HISTORY_DOCUMENTS.keptMs,
  'miss-day': HISTORY_DOCUMENTS.keptMs,
  survey: HISTORY_DOCUMENTS.keptMs,
  'step-week': HISTORY_DOCUMENTS.keptMs,
  'step-times': HISTORY_DOCUMENTS.keptMs,
  flaky: HISTORY_DOCUMENTS.keptMs,
  step: HISTORY_DOCUMENTS.keptMs,
  'step-unkept': HISTORY_DOCUMENTS.keptMs,
  denied: HISTORY_DOCUMENTS.keptMs,
  hour: HISTORY_DOCUMENTS.keptMs,
  minute: HISTORY_DOCUMENTS.minutesKeptMs,
  'ten-minutes': HISTORY_DOCUMENTS.minutesKeptMs,
  node: HISTORY_DOCUMENTS.minutesKeptMs,
  /** Its time is the end of the token, or of the session. */
  'used-token': HISTORY_DOCUMENTS.usedTokensMs,
  'ended-session': HISTORY_DOCUMENTS.usedTokensMs,
};

/** The largest first: what a full history loses. */
const SHORTENED = [
  'run-lookups',
  'run-details',
  'miss-day',
  'step-week',
  'step-times',
  'run',
  'step-unkept',
  'flaky',
  'step',
];
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const KEPT_DAYS = HISTORY_DOCUMENTS.keptMs / DAY;
/** How old a document may be in a full history: less and less. */
const AGES = [
  ...Array.from({ length: KEPT_DAYS - 1 }, (_, at) => (KEPT_DAYS - 1 - at) * DAY),
  ...[12, 6, 3, 1].map((hours) => hours * HOUR),
];

interface Retention {
  readonly history: History;
  /** The limit of the whole store. */
  readonly limit: () => number;
  readonly now?: () => number;
}

/** Resolves soon after `signal` aborts. */
export async function keepRetention(retention: Retention, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await removeOld(retention, signal);
    } catch (error) {
      log.error({ err: error }, 'could not remove old documents of the history');
    }
    await pause(HISTORY_DOCUMENTS.retentionMs, undefined, { signal }).catch(() => {});
  }
}

export async function removeOld(
  { history, limit, now = Date.now }: Retention,
  signal: AbortSignal,
): Promise<void> {
  for (const [kind, keptMs] of Object.entries(KEPT_MS))
    await removeBefore(history, kind, now() - keptMs, signal);
  for (const age of AGES) {
    if (signal.aborted || (await history.usedBytes()) <= historyShare(limit())) return;
    for (const kind of SHORTENED) await removeBefore(history, kind, now() - age, signal);
  }
}

async function removeBefore(history: History, kind: string, at: number, signal: AbortSignal): Promise<void> {
  const most = STORE.historyBatch;
  while (!signal.aborted && (await history.removeBefore(kind, at, most)) === most) await pause(0);
}
