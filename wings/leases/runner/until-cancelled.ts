// A wait that ends when the run is cancelled: a poll may be open for long, and nobody would see why Ctrl-C does nothing.
import { RUNNER } from './limits.ts';

/** Rejects with what `throwIfCancelled` throws. Then `work` goes on unseen, until the caches close. */
export function untilCancelled<T>(work: Promise<T>, throwIfCancelled: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      try {
        throwIfCancelled();
      } catch (error) {
        clearInterval(timer);
        reject(error);
      }
    }, RUNNER.cancelMs);
    work.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
