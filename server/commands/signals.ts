// SIGTERM, SIGINT, and SIGHUP of a terminal that goes away: the first asks for an orderly stop, the second ends the process at
// once.
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
