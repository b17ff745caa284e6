// The deletion of condemned objects from the bucket: the only place where objects are deleted.
//
// Invariants:
// J1 An object is deleted only if it is condemned for FLEET.condemnedMs. A condemned object never becomes visible again.
// J2 Ages are counted in ticks of the logical clock.
// J3 The row of a condemned object is removed after the object. A crash between them repeats the deletion.
// J4 Every deletion asks first whether this node is still the janitor, and whether its database still owns the objects.
import { FLEET } from '../../limits.ts';
import type { Bucket } from '../bucket.ts';
import type { Statement } from '../index/database.ts';
import type { FleetClock } from '../index/logical-clock.ts';
import { CONDEMNED } from '../index/object-rows.ts';
import type { DeletionRight } from '../ownership/ownership.ts';
import type { Mandate } from './election.ts';

const TO_DELETE: Statement = {
  name: 'janitor condemned',
  text: `
    SELECT o.name::text FROM assay.object o, assay.clock c
    WHERE o.state = ${CONDEMNED} AND o.tick < c.tick - $1::int8 LIMIT ${FLEET.janitorRows}`,
};

const DELETED: Statement = {
  name: 'janitor deleted',
  text: `DELETE FROM assay.object WHERE name = ANY ($1::uuid[]) AND state = ${CONDEMNED}`,
};

/** The bucket refuses to delete them. They are asked for again later, so that they do not hold up others. */
const AGAIN: Statement = {
  name: 'janitor again',
  text: `
    UPDATE assay.object o SET tick = c.tick FROM assay.clock c
    WHERE o.name = ANY ($1::uuid[]) AND o.state = ${CONDEMNED}`,
};

export class Deletions {
  readonly #bucket: Bucket;
  readonly #clock: FleetClock;
  readonly #onRefused: (count: number) => void;

  /** `onRefused` gets how many objects the bucket would not delete. */
  constructor(bucket: Bucket, clock: FleetClock, onRefused: (count: number) => void) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#onRefused = onRefused;
  }

  /** Deletes what was condemned long enough, in steps. `onDeleted` is called for each step. */
  async deleteCondemned(
    mandate: Mandate,
    right: DeletionRight,
    onDeleted: (count: number) => boolean,
  ): Promise<void> {
    while (!this.#bucket.isAway) {
      const rows = await mandate.query<{ name: string }>(TO_DELETE, [
        this.#clock.ticksFor(FLEET.condemnedMs),
      ]);
      if (rows.length === 0) return;
      const names = rows.map(({ name }) => name);
      await mandate.confirm();
      await right.confirm();
      const refused = new Set(await this.#bucket.attempt((objects) => objects.delete(names)));
      const deleted = names.filter((name) => !refused.has(name));
      await mandate.query(DELETED, [deleted]);
      if (refused.size > 0) await mandate.query(AGAIN, [[...refused]]);
      this.#onRefused(refused.size);
      if (!onDeleted(deleted.length)) return;
    }
  }
}
