// The caches of calls. They stay open for a moment after the last call, because opening a store takes longer than a hit.
// Guarantee: what a program has open ends by itself, so no program has to close it.

import { openRemote } from '../../../client/remote/open.ts';
import type { Remote } from '../../../client/remote/remote.ts';
import { parseRemoteUrl, remoteBelow } from '../../../client/remote/url.ts';
import { type Cache, openCache } from '../../../client/run/caches.ts';
import type { RunEvent } from '../../../client/terminal/events.ts';
import { CALLS_NAMESPACE, type CheckedCall } from './key.ts';
import { CALLS } from './limits.ts';

interface SessionOptions {
  readonly storeFolder: string;
  readonly workspace: CheckedCall['request']['workspace'];
  readonly remote: string | undefined;
  readonly token: string | undefined;
}

export interface CallSession {
  readonly cache: Cache;
  openRemote(): Promise<Remote | undefined>;
}

interface Shared extends CallSession {
  users: number;
  timer: NodeJS.Timeout | undefined;
  close(): Promise<void>;
}

const open = new Map<string, Shared>();
/** The calls at hand, which hear of a store or a remote that fails. */
const listeners = new Set<(event: RunEvent) => void>();

export async function withSession<T>(
  options: SessionOptions,
  report: (event: RunEvent) => void,
  work: (session: CallSession) => Promise<T>,
): Promise<T> {
  const name = JSON.stringify(options);
  const session = open.get(name) ?? opened(options);
  open.set(name, session);
  clearTimeout(session.timer);
  session.users++;
  listeners.add(report);
  try {
    return await work(session);
  } finally {
    listeners.delete(report);
    session.users--;
    if (session.users === 0)
      session.timer = setTimeout(() => {
        open.delete(name);
        session.close().catch(() => undefined);
      }, CALLS.lingerMs);
  }
}

function opened({ storeFolder, workspace, remote: text, token }: SessionOptions): Shared {
  const report = (event: RunEvent) => {
    for (const listener of listeners) listener(event);
  };
  const cache = openCache({ storeFolder, workspace, now: Date.now, report });
  const url = text ? remoteBelow(parseRemoteUrl(text), CALLS_NAMESPACE) : undefined;
  let remote: Promise<Remote> | undefined;
  return {
    cache,
    users: 0,
    timer: undefined,
    async openRemote() {
      if (url) remote ??= openRemote({ url, token, now: Date.now });
      return remote;
    },
    async close() {
      await (await remote)?.close();
      await cache.close();
    },
  };
}
