// The fleet engine: connects a node to the PostgreSQL and the bucket that all nodes share.
// A node keeps nothing that another one needs, so each may be killed at any moment.
import { tenantIn } from '../../../core/namespace.ts';
import type { AccountSettings } from '../../../store/accounts.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import { STORE } from '../../../store/limits.ts';
import type { Engine, Inspection } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import { FleetAccounts } from './accounts/accounts.ts';
import { AcknowledgedPuts } from './acknowledged-puts.ts';
import { FleetActionLeases } from './action-leases.ts';
import { FleetBlobs } from './blobs.ts';
import { Bucket } from './bucket.ts';
import { FleetHistory } from './history.ts';
import { Database, type OnAnswer } from './index/database.ts';
import { FleetClock, FRESH_TICKS } from './index/logical-clock.ts';
import { ObjectRows } from './index/object-rows.ts';
import { checkVersion } from './index/schema.ts';
import { Election } from './janitor/election.ts';
import { Janitor } from './janitor/janitor.ts';
import { FleetLabels } from './labels.ts';
import { LostObjects } from './lost-objects.ts';
import type { Objects } from './objects.ts';
import { FleetOwnership } from './ownership/ownership.ts';
import { BlobPresence } from './presence.ts';
import { FleetResults } from './results.ts';
import { type CopyLimits, type ReadCounts, SharedReads, type Tier } from './shared-reads.ts';
import { SharedSecret } from './shared-secret.ts';
import { FleetSpace } from './space.ts';
import { FleetTenants } from './tenants.ts';
import { UploadRows } from './upload-rows.ts';
import { FleetUploads } from './uploads.ts';
import { WrongObjects } from './wrong-objects.ts';

interface FleetEngineOptions {
  readonly index: string;
  readonly objects: Objects;
  /** The copies on the disk of this node. */
  readonly tier?: Tier | undefined;
  readonly onEvent: OnStoreEvent;
  /** A monotonic clock of this node. */
  readonly now?: () => number;
  /** The bytes that the fleet may hold in its bucket, and in PostgreSQL. */
  readonly maxBytes?: number;
  readonly maxIndexBytes?: number;
  /** Namespaces with a quota or a floor, the same at all nodes. */
  readonly accounts?: readonly AccountSettings[] | undefined;
  /** How long presence is remembered. */
  readonly memoMs?: number;
  readonly lostAfterMs?: number;
  readonly copyLimits?: CopyLimits;
  readonly answerMs?: number;
  /** How often the version of the tables is looked at. */
  readonly versionMs?: number;
  /** After so long without a word, PostgreSQL takes the office of janitor away. */
  readonly electionIdleMs?: number;
  /** Told of every statement. */
  readonly onIndexAnswer?: OnAnswer | undefined;
}

export interface FleetEngine extends Engine {
  readonly clock: FleetClock;
  readonly janitor: Janitor;
  readonly election: Election;
  readonly ownership: Pick<FleetOwnership, 'isOwner' | 'waitingOrphans'>;
  readonly space: FleetSpace;
  readonly accounts: FleetAccounts;
  readonly readCounts: ReadCounts;
  inspect(): Promise<Inspection>;
  /** Resolves when every object that was found missing until now has been asked for again. */
  lostSettled(): Promise<void>;
  /** Whether each part counts as away, by what this node saw last. */
  isAway(): { readonly index: boolean; readonly blobs: boolean };
  /** Throws ASSAY_INDEX_AWAY if this node has never reached PostgreSQL. */
  secret(): Buffer;
  /** Asks PostgreSQL and the bucket now: "ok", or why not. */
  parts(): Promise<{ readonly index: string; readonly blobs: string }>;
}

/**
 * Opens also while PostgreSQL or the bucket is away. Throws ASSAY_INDEX_VERSION if the tables are not those of this
 * version, ASSAY_FLEET_MISMATCH if the bucket belongs to another fleet, or a BucketRefusal if the key may not write.
 */
export async function openFleetEngine(options: FleetEngineOptions): Promise<FleetEngine> {
  const { objects, onEvent, now = () => performance.now() } = options;
  const { maxBytes = Number.POSITIVE_INFINITY, maxIndexBytes = maxBytes } = options;
  const space = new FleetSpace({ bucket: maxBytes, index: maxIndexBytes });
  const forgetting: (() => void)[] = [];
  const clock = new FleetClock(now);
  const secret = new SharedSecret();
  const keepMs = () => Math.min(FLEET.acknowledgedMs, (clock.tickMs * STORE.leaseTicks) / 2);
  const acknowledged = new AcknowledgedPuts(now, keepMs, onEvent);
  const database = await Database.open({
    url: options.index,
    answerMs: options.answerMs,
    onAnswer: options.onIndexAnswer,
    async greet(queries) {
      await checkVersion(queries);
      await clock.greet(queries);
      await secret.greet(queries);
      await acknowledged.greet(queries);
    },
    watch: checkVersion,
    watchMs: options.versionMs,
    onLost: () => {
      for (const forget of forgetting) forget();
    },
  });
  clock.start(database);
  const ownership = new FleetOwnership({ database, objects, onEvent });
  const objectRows = new ObjectRows(database, () => ownership.newName());
  const bucket = await Bucket.open(objects, database, objectRows, () => ownership.identify()).catch(
    async (error: unknown) => {
      await clock.stop();
      await database.close();
      throw error;
    },
  );
  const memoMs = () => Math.min(options.memoMs ?? FLEET.presenceMemoMs, FRESH_TICKS * clock.tickMs);
  const presence = new BlobPresence(database, now, memoMs);
  const tenants = new FleetTenants(database);
  const accounts = new FleetAccounts(options.accounts ?? [], space.limits, tenants);
  forgetting.push(
    () => presence.forget(),
    () => tenants.forget(),
    () => ownership.forget(),
  );
  const lost = new LostObjects(
    bucket,
    (hash, generation, detail) => blobs.quarantine(hash, generation, detail, 'lost'),
    options.lostAfterMs,
  );
  const wrong = new WrongObjects({
    database,
    bucket,
    clock,
    remove: (hash, generation, detail) => blobs.quarantine(hash, generation, detail),
    waitMs: options.lostAfterMs,
  });
  const reads = new SharedReads(bucket, options.tier, options.copyLimits);
  const blobs: FleetBlobs = new FleetBlobs({
    database,
    bucket,
    presence,
    acknowledged,
    tenants,
    accounts,
    objectRows,
    lost,
    wrong,
    reads,
    space,
    tier: options.tier,
    now,
    onEvent,
  });
  const election = new Election({ database, now, idleMs: options.electionIdleMs, onEvent });
  const janitor = new Janitor({
    database,
    bucket,
    clock,
    objectRows,
    election,
    ownership,
    accounts,
    space,
    wrong,
    now,
    onEvent,
  });
  const uploads = new FleetUploads({
    rows: new UploadRows(database),
    bucket,
    blobs,
    tenants,
    accounts,
    objectRows,
    space,
  });
  const bucketFault = () => (bucket.hasCanary || !database.isAway ? NO_BUCKET : UNKNOWN_BUCKET);
  return {
    blobs,
    uploads: uploads.ofTenant(),
    tenant(namespace) {
      const sender = { tenant: tenantIn(namespace), holder: accounts.holderOf(namespace) };
      return { blobs: blobs.ofTenant(sender), uploads: uploads.ofTenant(sender) };
    },
    records: new FleetResults({ database, presence, acknowledged, space, accounts, now, onEvent }),
    labels: new FleetLabels(database, space, accounts),
    leases: new FleetActionLeases(database),
    history: new FleetHistory(database),
    clock,
    janitor,
    election,
    ownership,
    space,
    accounts,
    readCounts: reads.counts,
    async inspect() {
      const { FleetInspection } = await import('./inspection.ts');
      return new FleetInspection(database, bucket, blobs, lost);
    },
    lostSettled: () => lost.settled(),
    isAway: () => ({ index: database.isAway, blobs: bucket.isAway }),
    secret: () => secret.bytes,
    parts: atMostOnceIn(FLEET.partsMs, now, async () => {
      const [index, blobs] = await Promise.all([
        inTime(
          database.ask().then(() => 'ok'),
          () => (database.isUnfit ? UNFIT_TABLES : NO_INDEX),
        ),
        inTime(
          bucket.canReadCanary().then((canRead) => (canRead ? 'ok' : bucketFault())),
          bucketFault,
        ),
      ]);
      return { index, blobs };
    }),
    async close() {
      await uploads.close();
      lost.close();
      wrong.close();
      await janitor.close();
      await clock.stop();
      await bucket.close();
      await database.close();
    },
  };
}

const NO_INDEX = 'PostgreSQL can’t be reached';
const UNFIT_TABLES = 'the tables in PostgreSQL have another version';
const NO_BUCKET = 'the bucket can’t be read';
const UNKNOWN_BUCKET = 'not known while PostgreSQL is away';

/** The answer, or `otherwise` if it fails or takes too long. */
async function inTime(answer: Promise<string>, otherwise: () => string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(otherwise()), FLEET.partsWaitMs);
  answer.then(resolve, () => resolve(otherwise()));
  return promise.finally(() => clearTimeout(timer));
}

/** Anyone may ask a server for its state: many questions must not become many requests to the bucket. */
function atMostOnceIn<T>(milliseconds: number, now: () => number, ask: () => Promise<T>): () => Promise<T> {
  let answer: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    if (!answer || now() - answer.at >= milliseconds) answer = { at: now(), value: ask() };
    return answer.value;
  };
}
