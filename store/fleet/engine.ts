// The fleet engine: connects a node to the PostgreSQL and the bucket that all nodes share.
// A node keeps nothing that another one needs, so each may be killed at any moment.
import type { OnStoreEvent } from '../events.ts';
import { STORE } from '../limits.ts';
import type { Engine } from '../store.ts';
import { FleetBlobs } from './blobs.ts';
import { Bucket } from './bucket.ts';
import { Database } from './database.ts';
import { FleetEviction } from './eviction.ts';
import { FleetHistory } from './history.ts';
import { Janitor } from './janitor.ts';
import { FleetLabels } from './labels.ts';
import { FRESH_TICKS, LogicalClock } from './logical-clock.ts';
import { LostObjects } from './lost-objects.ts';
import { ObjectRows } from './object-rows.ts';
import type { Objects } from './objects.ts';
import { Presence } from './presence.ts';
import { FleetResults } from './results.ts';
import { checkVersion } from './schema.ts';
import { TenantNumbers } from './tenants.ts';
import { FleetUploads } from './uploads.ts';

export interface FleetEngineOptions {
  readonly index: string;
  readonly objects: Objects;
  readonly onEvent: OnStoreEvent;
  /** A monotonic clock of this node. */
  readonly now?: () => number;
  /** The bytes that the fleet may hold. */
  readonly maxBytes?: number;
  /** How long presence is remembered. */
  readonly memoMs?: number;
  readonly lostAfterMs?: number;
  readonly answerMs?: number;
}

export interface FleetEngine extends Engine {
  readonly clock: LogicalClock;
  readonly janitor: Janitor;
  readonly eviction: FleetEviction;
  /** Which part can't be reached now. */
  away(): Promise<{ readonly index: boolean; readonly blobs: boolean }>;
}

/** Throws ASSAY_INDEX_VERSION if the tables are not those of this version. */
export async function openFleetEngine(options: FleetEngineOptions): Promise<FleetEngine> {
  const { objects, onEvent, now = () => performance.now(), maxBytes = Number.POSITIVE_INFINITY } = options;
  const forgetting: (() => void)[] = [];
  const database = await Database.open({
    url: options.index,
    answerMs: options.answerMs,
    onLost: () => {
      for (const forget of forgetting) forget();
    },
  });
  await checkVersion(database);
  const clock = await LogicalClock.start(database, now);
  const bucket = await Bucket.open(objects, database);
  const memoMs = Math.min(options.memoMs ?? STORE.presenceMemoMs, FRESH_TICKS * clock.tickMs);
  const presence = new Presence(database, now, memoMs);
  const tenants = new TenantNumbers(database);
  forgetting.push(
    () => presence.forget(),
    () => tenants.forget(),
  );
  const objectRows = new ObjectRows(database);
  const lost = new LostObjects(
    bucket,
    (hash, generation, detail) => blobs.quarantine(hash, generation, detail),
    options.lostAfterMs,
  );
  const blobs: FleetBlobs = new FleetBlobs({
    database,
    bucket,
    presence,
    tenants,
    objectRows,
    lost,
    now,
    onEvent,
  });
  const eviction = new FleetEviction(database);
  const janitor = new Janitor({ database, bucket, clock, objectRows, eviction, maxBytes, onEvent });
  const uploads = new FleetUploads({
    database,
    bucket,
    blobs,
    tenants,
    objectRows,
    isFull: () => janitor.hasTooManyUploads,
  });
  return {
    blobs,
    uploads: uploads.ofTenant(undefined),
    tenant: (name) => ({ blobs: blobs.ofTenant(name), uploads: uploads.ofTenant(name) }),
    records: new FleetResults(database, presence, now, onEvent),
    labels: new FleetLabels(database),
    history: new FleetHistory(database),
    fault(isWritten) {
      if (database.isAway) return 'PostgreSQL can’t be reached';
      return isWritten && bucket.isAway ? 'the bucket can’t be reached' : undefined;
    },
    clock,
    janitor,
    eviction,
    async away() {
      const index = await clock.look().then(
        () => false,
        () => true,
      );
      return { index, blobs: !(await bucket.canReadCanary()) };
    },
    async close() {
      await uploads.close();
      lost.close();
      await janitor.close();
      await clock.stop();
      await bucket.close();
      await database.close();
    },
  };
}
