// `assay db adopt`: makes this database the owner of the objects of a prefix, and condemns orphans if it is told to.
//
// Guarantees:
// - The row changes first. If the object can't be written then, each round of the janitor tries again (ownership.ts, O4).
// - Repeating it changes nothing more: an owner stays the owner, in the same epoch.
import { AssayError } from '../../../../core/errors.ts';
import { FLEET } from '../../limits.ts';
import { Database, type Queries, type Statement } from '../index/database.ts';
import { CONDEMNED, ORPHAN } from '../index/object-rows.ts';
import { checkVersion } from '../index/schema.ts';
import type { Objects } from '../objects.ts';
import { type FleetObject, putObject, readObject } from './fleet-object.ts';
import { type FleetState, readState, takeOver } from './fleet-row.ts';
import { UUID } from './object-names.ts';
import { judgeOwnership, type OwnershipVerdict } from './verdict.ts';

const UNNAMED = `
  FROM unnest($1::uuid[]) AS listed(name)
  WHERE NOT EXISTS (SELECT FROM assay.object o WHERE o.name = listed.name AND o.state <> ${ORPHAN})
    AND NOT EXISTS (SELECT FROM assay.canary k WHERE k.name = listed.name)`;

const COUNT: Statement = { name: 'adopt count', text: `SELECT count(*)::int AS count ${UNNAMED}` };

const CONDEMN: Statement = {
  name: 'adopt condemn',
  text: `
    INSERT INTO assay.object AS o (name, state, tick)
    SELECT listed.name, ${CONDEMNED}, (SELECT tick FROM assay.clock) ${UNNAMED}
    ON CONFLICT (name) DO UPDATE SET state = excluded.state, tick = excluded.tick WHERE o.state = ${ORPHAN}
    RETURNING o.name`,
};

const ENDED: Statement = { name: 'adopt ended', text: 'UPDATE assay.fleet SET orphans = NULL' };

export interface Found extends FleetState {
  readonly object: FleetObject | 'absent' | 'damaged';
  readonly verdict: OwnershipVerdict;
}

interface ListedOrphans {
  readonly listed: number;
  readonly orphans: number;
}

export class Adoption {
  readonly #database: Queries;
  readonly #objects: Objects;
  readonly #beganAt = performance.now();

  constructor(database: Queries, objects: Objects) {
    this.#database = database;
    this.#objects = objects;
  }

  static async open(index: string, objects: Objects): Promise<{ adoption: Adoption; database: Database }> {
    const database = await Database.open({ url: index, greet: checkVersion, onLost() {} });
    return { adoption: new Adoption(database, objects), database };
  }

  async find(): Promise<Found> {
    const object = await readObject(this.#objects);
    const state = await readState(this.#database);
    return { ...state, object, verdict: judgeOwnership(state, object) };
  }

  /** The id of the prefix stays: the other database still fits it, and is told that it is no longer the owner. */
  async adopt({ row, object }: Found): Promise<void> {
    const other = typeof object === 'string' ? undefined : object;
    const fleet = other?.fleet ?? row?.fleet ?? crypto.randomUUID();
    await takeOver(this.#database, fleet, other?.rounds ?? 0, other?.epoch);
    const taken = (await readState(this.#database)).row;
    if (taken) await putObject(this.#objects, taken);
    if ((await this.find()).verdict.kind === 'stopped')
      throw new AssayError(
        'ASSAY_FLEET_NOT_OWNER',
        'another database has written the object assay-fleet meanwhile. Repeat the command',
      );
  }

  /** Counts the objects that no row names, of any epoch. Those that are younger than a day do not count. */
  async countOrphans(): Promise<ListedOrphans> {
    return this.#pass(async (names) => {
      const [row] = await this.#database.query<{ count: number }>(COUNT, [names]);
      return row?.count ?? 0;
    });
  }

  /** The janitor deletes them an hour later. Objects that have become a day old since the command began stay. */
  async condemnOrphans(): Promise<ListedOrphans> {
    const condemned = await this.#pass(async (names) => {
      return (await this.#database.query(CONDEMN, [names])).length;
    });
    await this.#database.query(ENDED);
    return condemned;
  }

  async #pass(visit: (names: readonly string[]) => Promise<number>): Promise<ListedOrphans> {
    const orphanMs = FLEET.orphanMs + (performance.now() - this.#beganAt);
    let [listed, orphans] = [0, 0];
    let after: string | undefined;
    do {
      const page = await this.#objects.list(after);
      const names = page.objects.filter(({ name }) => UUID.test(name));
      const old = names.filter(({ ageMs }) => ageMs >= orphanMs).map(({ name }) => name);
      listed += names.length;
      if (old.length > 0) orphans += await visit(old);
      after = page.after;
    } while (after !== undefined);
    return { listed, orphans };
  }
}
