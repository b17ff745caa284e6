// The deletion of objects from the bucket: of those that were condemned, and of orphans.
//
// Invariants:
// J1 An object is deleted only if it is condemned for STORE.condemnedMs, or if it is a day old and no row names it. A
//    condemned object never becomes visible again.
// J2 Ages are counted in ticks of the logical clock. Only the age of an orphan comes from the bucket's own clock.
// J3 The row of a condemned object is removed after the object. A crash between them repeats the deletion.
// J4 Every deletion goes through `#delete`, which asks first whether this node is still the janitor.
import { STORE } from '../../limits.ts';
import type { Bucket } from '../bucket.ts';
import type { Statement } from '../index/database.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import { CONDEMNED } from '../index/object-rows.ts';
import type { Mandate } from './election.ts';

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

export class Deletions {
  readonly #bucket: Bucket;
  readonly #clock: LogicalClock;
  /** The position of the slow listing. */
  #listedTo: string | undefined;

  constructor(bucket: Bucket, clock: LogicalClock) {
    this.#bucket = bucket;
    this.#clock = clock;
  }

  /** Deletes what was condemned long enough, in steps. `onDeleted` is told of each step. */
  async deleteCondemned(mandate: Mandate, onDeleted: (count: number) => boolean): Promise<void> {
    while (!this.#bucket.isAway) {
      const rows = await mandate.query<{ name: string }>(TO_DELETE, [
        this.#clock.ticksFor(STORE.condemnedMs),
      ]);
      if (rows.length === 0) return;
      const names = rows.map(({ name }) => name);
      await this.#delete(mandate, names);
      await mandate.query(DELETED, [names]);
      if (!onDeleted(names.length)) return;
    }
  }

  /** Deletes the orphans of one page of a listing, and returns how many. */
  async deleteOrphans(mandate: Mandate): Promise<number> {
    const bucket = this.#bucket;
    if (bucket.isAway) return 0;
    if (this.#listedTo === undefined) await bucket.attempt((objects) => objects.abortUploads(STORE.orphanMs));
    const page = await bucket.attempt((objects) => objects.list(this.#listedTo));
    this.#listedTo = page.after;
    const old = page.objects
      .filter(({ name, ageMs }) => ageMs >= STORE.orphanMs && UUID.test(name))
      .map(({ name }) => name);
    if (old.length === 0) return 0;
    const known = await mandate.query<{ name: string }>(KNOWN, [old]);
    const named = new Set(known.map(({ name }) => name));
    const orphans = old.filter((name) => !named.has(name));
    if (orphans.length > 0) await this.#delete(mandate, orphans);
    return orphans.length;
  }

  async #delete(mandate: Mandate, names: readonly string[]): Promise<void> {
    await mandate.confirm();
    await this.#bucket.attempt((objects) => objects.delete(names));
  }
}

/** Anything else in the bucket is not Assay's. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
