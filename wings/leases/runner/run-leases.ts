// The action leases of one run: where it asks for them, which ones it holds, and which releases are on their way.
// They close with the run's caches: each lease that the run still holds is released then.
import type { Cache } from '../../../client/run/caches.ts';
import type { RunContext } from '../../../client/run/context.ts';
import { placeOf } from '../../../client/run/run-origin.ts';
import type { InHand } from './in-hand.ts';
import { RUNNER } from './limits.ts';
import { LocalLeases } from './local.ts';
import { ServerLeases } from './server.ts';
import { WaitQueue } from './wait-queue.ts';

export interface RunLeases {
  readonly local: LocalLeases;
  readonly server: ServerLeases | undefined;
  readonly inHand: Set<InHand>;
  readonly waits: WaitQueue;
  /** The end of the run waits for this release. */
  track(release: Promise<void>): void;
  close(): Promise<void>;
}

const opened = new WeakMap<Cache, Promise<RunLeases | undefined>>();

/** The same for all actions of a run. Undefined if its local store can't be used. */
export function leasesOf(cache: Cache, caller: RunContext['caller']): Promise<RunLeases | undefined> {
  const known = opened.get(cache);
  if (known) return known;
  const leases = cache.openBeside(async ({ storeFolder, remoteUrl, token }): Promise<RunLeases> => {
    const holder = (placeOf(caller) ?? 'a run').slice(0, RUNNER.maxHolder);
    const server = remoteUrl && new ServerLeases({ url: remoteUrl, token, holder });
    const inHand = new Set<InHand>();
    const releases = new Set<Promise<void>>();
    return {
      local: new LocalLeases(storeFolder),
      server,
      inHand,
      waits: new WaitQueue(),
      track(release) {
        releases.add(release);
        void release.finally(() => releases.delete(release));
      },
      async close() {
        for (const one of inHand) one.close();
        await withinTime(Promise.all(releases));
        await server?.close();
      },
    };
  });
  opened.set(cache, leases);
  return leases;
}

/** The server ends a lease whose release is lost when its heartbeats are missing. */
async function withinTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, RUNNER.releaseMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
