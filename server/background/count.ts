// Background job: counts what the accounts of the store hold, at the start and then once a day.
// Then it removes the labels whose result is gone: they count, and eviction knows no labels.
// Until the first count is done no quota and no floor is known, so it pauses only as long as each step took.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { DiskStore } from '../../store/open.ts';
import type { Review } from '../../store/store.ts';
import { SERVER } from '../limits.ts';

/** Resolves soon after `signal` aborts. */
export async function keepCounting(
  { holdings, review }: DiskStore,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (holdings.accounts.isEmpty) return;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      await holdings.count((tookMs) => pause(tookMs, undefined, { signal }));
      const accounts = Object.fromEntries(holdings.accounts.all.map(({ name, bytes }) => [name, bytes]));
      await removeDeadLabels(review, signal);
      log.info({ accounts, tookMs: Math.round(performance.now() - began) }, 'counted what accounts hold');
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'could not count what the accounts of the store hold');
    }
    await pause(SERVER.reconcilePauseMs, undefined, { signal }).catch(() => {});
  }
}

async function removeDeadLabels(review: Review | undefined, signal: AbortSignal): Promise<void> {
  for await (const label of review?.labels() ?? []) {
    signal.throwIfAborted();
    await review?.removeDeadLabel(label);
  }
}
