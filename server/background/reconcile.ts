// Background job: compares the store's index with its folder, at the start and then once a day.
// It pauses after each step, so that it uses a twentieth of a core. The store reports what it finds as
// events.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { DiskStore } from '../../store/open.ts';
import { SERVER } from '../limits.ts';

/** Resolves soon after `signal` aborts. */
export async function keepReconciling(store: DiskStore, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await store.reconcile((tookMs) => pause(SERVER.reconcilePauseFactor * tookMs, undefined, { signal }));
      await pause(SERVER.reconcilePauseMs, undefined, { signal });
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error }, 'could not reconcile the store’s index with its folder');
      await pause(SERVER.reconcilePauseMs, undefined, { signal }).catch(() => {});
    }
  }
}
