// A running server looks through its staging folder every few minutes, beginning when it starts, and removes what no
// process will continue. The store itself tells what it removed.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { STORE } from '../../store/limits.ts';
import type { DiskStore } from '../../store/open.ts';

/** Resolves soon after it is told to stop. */
export async function keepSweeping(
  store: Pick<DiskStore, 'sweep'>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await store.sweep();
    } catch (error) {
      log.error({ err: error }, 'could not look through the staging folder');
    }
    await pause(STORE.sweepMs, undefined, { signal }).catch(() => {});
  }
}
