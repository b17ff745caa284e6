// The events that Turborepo sends after its lookups: which session looked up what at the remote, and how long the task
// had taken when it ran. They name the runs of the dashboard; no answer depends on them.

import type { Exchange } from '../../http/exchange.ts';
import { PROTOCOL } from '../../limits.ts';
import type { Session } from '../../request/observer.ts';
import { artifactIn, type Team } from './address.ts';

const HASH = /^[0-9A-Za-z_-]{1,255}$/;
const SESSION = /^[\x21-\x7e]{1,100}$/;

interface Event {
  readonly session: string;
  readonly hash: string;
  readonly what: 'hit' | 'miss';
  readonly durationMs: number;
}

/** Tells the dashboard. What is no event, or not of the remote, is left out. */
export function tellSessions(
  exchange: Exchange,
  prefix: string | undefined,
  team: Team,
  body: unknown,
): void {
  const { store, server, request } = exchange;
  const { identity } = store;
  if (!identity.rights.has('results:read')) return;
  const maySave = identity.rights.has('runs:write');
  const events = (Array.isArray(body) ? body : []).flatMap((one) => eventIn(one) ?? []);
  for (const [id, all] of Map.groupBy(events, ({ session }) => session)) {
    const found = all.map(({ hash, what, durationMs }) => ({
      ...store.own(artifactIn(prefix, team, hash)),
      what,
      savedMs: maySave && what === 'hit' ? durationMs : 0,
    }));
    const [first] = found;
    if (!first) continue;
    const asked = { identity, headers: request.headers, protocol: 'turbo', namespace: first.namespace };
    const session: Session = { id, lookups: found };
    server.accounting.toldSession(asked, session);
  }
}

function eventIn(value: unknown): Event | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { sessionId, source, event, hash, duration } = value as Record<string, unknown>;
  if (source !== 'REMOTE' || (event !== 'HIT' && event !== 'MISS')) return undefined;
  if (typeof sessionId !== 'string' || !SESSION.test(sessionId)) return undefined;
  if (typeof hash !== 'string' || !HASH.test(hash)) return undefined;
  const isDuration = typeof duration === 'number' && duration >= 0 && duration <= PROTOCOL.maxDurationMs;
  return {
    session: sessionId,
    hash,
    what: event === 'HIT' ? 'hit' : 'miss',
    durationMs: isDuration ? Math.round(duration) : 0,
  };
}
