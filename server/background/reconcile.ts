// A running server compares its store's index with the folder once a day, beginning when it starts, and takes only a part
// of the time for it. What it finds is told by the store itself.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { STORE } from '../../store/limits.ts';
import type { DiskStore } from '../../store/open.ts';
import { SERVER } from '../limits.ts';

/** Resolves soon after it is told to stop. */
export async function keepReconciling(store: DiskStore, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await store.reconcile((tookMs) => pause(STORE.evictPauseFactor * tookMs, undefined, { signal }));
      await pause(SERVER.reconcilePauseMs, undefined, { signal });
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error }, 'could not compare the store’s index with its folder');
      await pause(SERVER.reconcilePauseMs, undefined, { signal }).catch(() => {});
    }
  }
}
