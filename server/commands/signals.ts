// Stop signals: SIGTERM, SIGINT, and SIGHUP, which a closed terminal sends.
// The first signal resolves the promise, for an orderly stop. The second ends the process at once.
import { constants } from 'node:os';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export function firstStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (isStopping) process.exit(128 + constants.signals[signal]);
        isStopping = true;
        resolve(signal);
      });
    }
  });
}
