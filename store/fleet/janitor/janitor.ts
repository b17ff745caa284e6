// The janitor: removes what dead nodes left, deletes condemned objects, keeps the store within its limit, and looks at
// the blobs of which another node has read wrong bytes. Every
// node has one, and any number may run at once: each change holds only for rows that are still as they were seen.
//
// Invariants:
// J1 An object is deleted from the bucket only if it is condemned for STORE.condemnedMs, or if it is a day old and
//    no row names it. A condemned object never becomes visible again.
// J2 Ages are counted in ticks of the logical clock. Only the age of an orphan comes from the bucket's own clock.
// J3 The row of a condemned object is removed after the object. A crash between them repeats the deletion.
import { messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import { STORE } from '../../limits.ts';
import type { Bucket } from '../bucket.ts';
import type { Database, Statement } from '../index/database.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import { CONDEMNED, type ObjectRows, PART, UPLOADING } from '../index/object-rows.ts';
import type { WrongObjects } from '../wrong-objects.ts';
import type { FleetEviction } from './eviction.ts';

const ABANDONED_UPLOADS: Statement = {
  name: 'janitor uploads',
  text: `
    WITH old AS (
        SELECT u.tenant, u.id FROM assay.upload u, assay.clock c
        WHERE u.tick < c.tick - $1::int8 ORDER BY u.tick LIMIT ${STORE.janitorRows} FOR UPDATE OF u SKIP LOCKED
      ),
      parts AS (
        SELECT p.object FROM assay.upload_part p JOIN old USING (tenant, id) WHERE p.object IS NOT NULL
      ),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM parts, assay.clock c
        WHERE o.name = parts.object AND o.state = ${PART} RETURNING o.name
      ),
      dropped AS (DELETE FROM assay.upload u USING old WHERE u.tenant = old.tenant AND u.id = old.id)
    SELECT name FROM condemned`,
};

const COUNT: Statement = {
  name: 'janitor count',
  text: `
    SELECT (SELECT count(*) FROM assay.upload) AS uploads,
      (SELECT count(*) FROM assay.object WHERE state = ${CONDEMNED}) AS condemned`,
};

const IDLE_OBJECTS: Statement = {
  name: 'janitor idle objects',
  text: `
    WITH old AS (
      SELECT o.name FROM assay.object o, assay.clock c
      WHERE o.state = ${UPLOADING} AND o.tick < c.tick - $1::int8
      LIMIT ${STORE.janitorRows} FOR UPDATE OF o SKIP LOCKED
    )
    UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM old, assay.clock c
    WHERE o.name = old.name RETURNING o.name`,
};

const TO_DELETE: Statement = {
  name: 'janitor condemned',
  text: `
    SELECT o.name::text FROM assay.object o, assay.clock c
    WHERE o.state = ${CONDEMNED} AND o.tick < c.tick - $1::int8 LIMIT ${STORE.janitorRows}`,
};

const DELETED: Statement = {
  name: 'janitor deleted',
  text: `DELETE FROM assay.object WHERE name = ANY ($1::uuid[]) AND state = ${CONDEMNED}`,
};

const KNOWN: Statement = {
  name: 'janitor known',
  text: `
    SELECT name::text FROM assay.object WHERE name = ANY ($1::uuid[])
    UNION ALL SELECT name::text FROM assay.canary`,
};

export interface JanitorOptions {
  readonly database: Database;
  readonly bucket: Bucket;
  readonly clock: LogicalClock;
  readonly objectRows: ObjectRows;
  readonly eviction: FleetEviction;
  readonly wrong: WrongObjects;
  /** The bytes that the fleet may hold. */
  readonly maxBytes: number;
  readonly onEvent: OnStoreEvent;
}

/** What the last round found in the tables. */
export interface FleetUsage {
  /** Of all blobs. */
  readonly bytes: number;
  /** Objects that are still to be deleted. */
  readonly condemned: number;
  /** Unfinished uploads in parts. */
  readonly uploads: number;
}

export class Janitor {
  readonly #options: JanitorOptions;
  readonly #timer: NodeJS.Timeout;
  #round: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isClosed = false;
  #usage: FleetUsage | undefined;
  /** The position of the slow listing. */
  #listedTo: string | undefined;

  constructor(options: JanitorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      if (!this.#isRunning) this.#round = this.run().catch((error) => this.#failed(error));
    }, STORE.janitorMs);
    this.#timer.unref();
  }

  get hasTooManyUploads(): boolean {
    return (this.#usage?.uploads ?? 0) >= STORE.maxFleetUploads;
  }

  /** Undefined before the first round. */
  get usage(): FleetUsage | undefined {
    return this.#usage;
  }

  /** The bytes that the fleet may hold. */
  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  #failed(error: unknown): void {
    this.#options.onEvent({ type: 'eviction-failed', detail: messageOf(error) });
  }

  /** One round of everything, with one page of the slow listing. */
  async run(): Promise<void> {
    this.#isRunning = true;
    let [condemned, deleted, orphans] = [0, 0, 0];
    try {
      await this.#options.objectRows.confirm();
      condemned = await this.#dropUploads();
      await this.#count();
      await this.evict();
      deleted = await this.deleteCondemned();
      orphans = await this.listPage();
      if (!this.#options.bucket.isAway) await this.#options.wrong.judge();
    } finally {
      this.#isRunning = false;
      if (condemned + deleted + orphans > 0)
        this.#options.onEvent({ type: 'cleaned', condemned, deleted, orphans });
    }
  }

  /** Returns how many objects were condemned. */
  async #dropUploads(): Promise<number> {
    const { database, clock } = this.#options;
    const parts = await database.query(ABANDONED_UPLOADS, [clock.ticksFor(STORE.abandonedUploadMs)]);
    const idle = await database.query(IDLE_OBJECTS, [clock.ticksFor(STORE.idleObjectMs)]);
    return parts.length + idle.length;
  }

  async #count(): Promise<void> {
    const { database, eviction } = this.#options;
    const [row] = await database.query<{ uploads: number; condemned: number }>(COUNT);
    this.#usage = { uploads: 0, condemned: 0, ...row, bytes: await eviction.usedBytes() };
  }

  async evict(): Promise<void> {
    const { eviction, maxBytes, onEvent } = this.#options;
    let used = await eviction.usedBytes();
    if (used <= maxBytes * STORE.evictFrom) return;
    while (used > maxBytes * STORE.evictTo && !this.#isClosed) {
      const evicted = await eviction.step(used - maxBytes * STORE.evictTo);
      if (!evicted) return;
      if (evicted.results + evicted.blobs > 0) onEvent({ type: 'evicted', ...evicted });
      used -= evicted.bytes;
    }
  }

  /** Returns how many were deleted. */
  async deleteCondemned(): Promise<number> {
    const { database, bucket, clock } = this.#options;
    let deleted = 0;
    while (!this.#isClosed && !bucket.isAway) {
      const rows = await database.query<{ name: string }>(TO_DELETE, [clock.ticksFor(STORE.condemnedMs)]);
      if (rows.length === 0) break;
      const names = rows.map(({ name }) => name);
      await bucket.attempt((objects) => objects.delete(names));
      await database.query(DELETED, [names]);
      deleted += names.length;
    }
    return deleted;
  }

  /** Deletes the orphans of one page, and returns how many. */
  async listPage(): Promise<number> {
    const { database, bucket } = this.#options;
    if (bucket.isAway) return 0;
    if (this.#listedTo === undefined) await bucket.attempt((objects) => objects.abortUploads(STORE.orphanMs));
    const page = await bucket.attempt((objects) => objects.list(this.#listedTo));
    this.#listedTo = page.after;
    const old = page.objects
      .filter(({ name, ageMs }) => ageMs >= STORE.orphanMs && UUID.test(name))
      .map(({ name }) => name);
    if (old.length === 0) return 0;
    const known = await database.query<{ name: string }>(KNOWN, [old]);
    const named = new Set(known.map(({ name }) => name));
    const orphans = old.filter((name) => !named.has(name));
    if (orphans.length > 0) await bucket.attempt((objects) => objects.delete(orphans));
    return orphans.length;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#round;
  }
}

/** Anything else in the bucket is not Assay's. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
