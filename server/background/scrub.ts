// Background job: verifies every blob of the store at a bounded rate, with a day between two rounds.
// It continues after a restart where it stopped. The store quarantines damaged blobs and reports them as
// events.
import type { Logger } from 'pino';
import { ScrubJournal } from '../../store/scrub/journal.ts';
import { newProgress, scrub } from '../../store/scrub/scrub.ts';
import { Throttle } from '../../store/scrub/throttle.ts';
import type { Store } from '../../store/store.ts';
import { SERVER } from '../limits.ts';

interface ScrubbingOptions {
  readonly store: Store;
  readonly storeFolder: string;
  readonly bytesPerSecond: number;
  readonly log: Logger;
}

/** After `signal` aborts, it resolves when the current blob is done. */
export async function keepScrubbing(options: ScrubbingOptions, signal: AbortSignal): Promise<void> {
  const { store, storeFolder, log } = options;
  const inspection = await store.inspect?.();
  if (!inspection) return;
  const journal = new ScrubJournal(storeFolder, Date.now);
  while (!signal.aborted) {
    const earlier = journal.read();
    await until((earlier?.finishedAt ?? Number.NEGATIVE_INFINITY) + SERVER.scrubPauseMs, signal);
    const from = earlier && earlier.finishedAt === undefined ? earlier : newProgress(Date.now());
    try {
      const tally = await scrub(from, {
        inspection,
        throttle: new Throttle(options.bytesPerSecond, undefined, (ms) => until(Date.now() + ms, signal)),
        now: Date.now,
        onProgress: (current) => journal.write(current),
        signal,
      });
      if (tally) log.info({ ...tally, damage: undefined }, 'verified the store');
    } catch (error) {
      log.error({ err: error }, 'could not verify the store');
      await until(Date.now() + SERVER.scrubRetryMs, signal);
    }
  }
}

/** Waits one day at most, so that a clock that steps back cannot postpone the next round for ever. */
function until(time: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(time - Date.now(), SERVER.scrubPauseMs);
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
