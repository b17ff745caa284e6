// The activity of each server of this process. Pages and APIs find it by the server of their request.
import { AssayError } from '../../../core/errors.ts';
import type { ServerContext } from '../../../server/context.ts';
import { Activity } from './activity.ts';

const all = new WeakMap<ServerContext, Activity>();

export function observe(server: ServerContext, flushMs: number): Activity {
  const { wholeStore, readOnly, metrics, accounting, log } = server;
  const activity = new Activity({
    history: readOnly ? undefined : wholeStore.history,
    bytes: () => metrics.bytes,
    count: () => accounting.count(),
    onTrouble: (error) => log.warn({ err: error }, 'the figures could not be written'),
    flushMs,
  });
  all.set(server, activity);
  return activity;
}

export function activityOf(server: ServerContext): Activity {
  const found = all.get(server);
  if (!found) throw new AssayError('ASSAY_INTERNAL', 'nothing observes this server');
  return found;
}
