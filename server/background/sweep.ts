// Background job: removes abandoned uploads from the staging folder, at the start and then every few minutes.
// The store reports what it removes as events.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { STORE } from '../../store/limits.ts';
import type { DiskStore } from '../../store/open.ts';

/** Resolves soon after `signal` aborts. */
export async function keepSweeping(
  store: Pick<DiskStore, 'sweep'>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await store.sweep();
    } catch (error) {
      log.error({ err: error }, 'could not sweep the staging folder');
    }
    await pause(STORE.sweepMs, undefined, { signal }).catch(() => {});
  }
}
