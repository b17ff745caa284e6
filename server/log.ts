// Structured logs: JSON lines on standard error, a line for what a person running the server should know. No request is
// logged at `info` or above, and nothing that a client sent is logged as it came.
import pino, { type Logger } from 'pino';
import type { OnStoreEvent } from '../store/events.ts';
import type { Metrics } from './pages/metrics.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

const STDERR = 2;

/** Lines are written at once: the last one before a crash is the one that matters. */
export function openLog(level: LogLevel): Logger {
  return pino({ name: 'assay', level }, pino.destination({ fd: STDERR, sync: true }));
}

export function reportStoreEvents(log: Logger, metrics: Metrics): OnStoreEvent {
  return (event) => {
    metrics.storeEvent(event);
    const { type, ...about } = event;
    if (type === 'quarantined' || type === 'diverged' || type === 'result-dropped')
      log.warn(about, `store: ${type}`);
    else log.info(about, `store: ${type}`);
  };
}
