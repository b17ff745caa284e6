// Signals of a running server: SIGTERM and SIGINT stop it. SIGHUP reloads its configuration if it has one.
// Without one it stops the server, because a closed terminal sends it.
// The first stop signal resolves the promise, for an orderly stop. The second ends the process at once.
import { constants } from 'node:os';

export function firstStopSignal(reload?: () => void): Promise<string> {
  const stopSignals = reload ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM', 'SIGINT', 'SIGHUP'] as const);
  if (reload) process.on('SIGHUP', reload);
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (isStopping) process.exit(128 + constants.signals[signal]);
        isStopping = true;
        resolve(signal);
      });
    }
  });
}
