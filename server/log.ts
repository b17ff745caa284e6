// The server's log: JSON lines on standard error.
// Guarantee: successful requests are not logged at `info` or above, and no text of a client is logged
// verbatim.
import pino, { type Logger } from 'pino';
import type { OnStoreEvent, StoreEvent } from '../store/events.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

const STDERR = 2;

const WARNINGS: ReadonlySet<StoreEvent['type']> = new Set([
  'quarantined',
  'lost',
  'forgotten',
  'diverged',
  'result-dropped',
  'janitor-lost',
  'credentials-not-renewed',
  'clock-differs',
  'not-owner',
  'too-many-orphans',
]);

/** Writes are synchronous, so the last line before a crash is not lost. */
export function openLog(level: LogLevel): Logger {
  return pino({ name: 'assay', level }, pino.destination({ fd: STDERR, sync: true }));
}

export function reportStoreEvents(log: Logger, metrics: { readonly storeEvent: OnStoreEvent }): OnStoreEvent {
  return (event) => {
    metrics.storeEvent(event);
    const { type, ...fields } = event;
    if (WARNINGS.has(type)) log.warn(fields, `store: ${type}`);
    else if (type === 'replaced') log.debug(fields, `store: ${type}`);
    else log.info(fields, `store: ${type}`);
  };
}
