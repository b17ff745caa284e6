// Background job: counts what the accounts of the store hold, at the start and then once a day, if it has some.
// Then it removes the labels whose result is gone: they take space, and eviction knows no labels.
// Until the first count is done no quota and no floor is known, so it pauses only as long as each step took.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { STORE } from '../../store/limits.ts';
import type { DiskStore } from '../../store/open.ts';
import type { Review } from '../../store/store.ts';
import { SERVER } from '../limits.ts';

/** Resolves soon after `signal` aborts. */
export async function keepCounting(
  { holdings, review }: DiskStore,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const began = performance.now();
    try {
      await holdings.count((tookMs) => pause(tookMs, undefined, { signal }));
      const accounts = Object.fromEntries(holdings.accounts.all.map(({ name, bytes }) => [name, bytes]));
      await removeDeadLabels(review, signal);
      if (!holdings.accounts.isEmpty)
        log.info({ accounts, tookMs: Math.round(performance.now() - began) }, 'counted what accounts hold');
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'could not count what the accounts of the store hold');
    }
    await pause(SERVER.reconcilePauseMs, undefined, { signal }).catch(() => {});
  }
}

async function removeDeadLabels(review: Review | undefined, signal: AbortSignal): Promise<void> {
  let [looked, began] = [0, performance.now()];
  for await (const label of review?.labels() ?? []) {
    signal.throwIfAborted();
    await review?.removeDeadLabel(label);
    if (++looked % STORE.rangeEntries > 0) continue;
    await pause(performance.now() - began, undefined, { signal });
    began = performance.now();
  }
}
