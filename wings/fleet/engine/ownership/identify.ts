// The first node of a fleet gives it an id: a row in PostgreSQL and an object in the bucket.
//
// Guarantees:
// - A database and a prefix that do not belong together are refused. They belong together if both are new, or if the
//   prefix has objects that the rows know: then an earlier version of Assay has filled them.
// - Of several first nodes of one database, the row of one is that of all: its primary key is their lock. Of two
//   databases that begin at one prefix, the one whose object is overwritten is refused.
import { AssayError } from '../../../../core/errors.ts';
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import type { Objects } from '../objects.ts';
import { type FleetObject, putObject, readObject } from './fleet-object.ts';
import { addRow, type FleetRow, type FleetState, readState } from './fleet-row.ts';
import { UUID } from './object-names.ts';

const ROWS: Statement = {
  name: 'fleet rows',
  text: `
    SELECT EXISTS (SELECT FROM assay.object) OR EXISTS (SELECT FROM assay.canary) AS "hasRows",
      (SELECT name::text FROM assay.canary) AS canary`,
};

const KNOWN: Statement = {
  name: 'fleet known',
  text: 'SELECT name FROM assay.object WHERE name = ANY ($1::uuid[]) LIMIT 1',
};

interface Identity extends FleetState {
  readonly object: FleetObject | 'absent' | 'damaged';
}

/** What the row and the object say, after the first node has written them. Throws ASSAY_FLEET_MISMATCH. */
export async function identifyFleet(queries: Queries, objects: Objects): Promise<Identity> {
  const object = await readObject(objects);
  const state = await readState(queries);
  if (state.row) return { ...state, object: await confirmed(objects, state.row, object) };
  if (object === 'absent') await refuseUnlessTheyFit(queries, objects);
  else throw mismatch(`the objects belong to ${nameOf(object)}, and the database to no fleet`);
  await addRow(queries);
  return identifyFleet(queries, objects);
}

/** The object of a row. A first node may have died between the row and its object. */
async function confirmed(
  objects: Objects,
  row: FleetRow,
  object: Identity['object'],
): Promise<Identity['object']> {
  const isNew = row.rounds === 0 && row.superseded.length === 0;
  if (object === 'absent' && isNew) {
    await putObject(objects, row);
    const written = await readObject(objects);
    if (written !== 'absent') return confirmed(objects, row, written);
    throw new AssayError('ASSAY_BUCKET_AWAY', 'it does not have the object that was just put');
  }
  if (object !== 'absent' && object !== 'damaged' && object.fleet !== row.fleet)
    throw mismatch(`the objects belong to ${nameOf(object)}, and the database to fleet ${row.fleet}`);
  return object;
}

async function refuseUnlessTheyFit(queries: Queries, objects: Objects): Promise<void> {
  const [row] = await queries.query<{ hasRows: boolean; canary: string | null }>(ROWS);
  const names = await someNames(objects);
  if (!row?.hasRows && names.length === 0) return;
  if (names.length > 0 && (await queries.query(KNOWN, [names])).length > 0) return;
  if (row?.canary && (await objects.probe(row.canary, 1))) return;
  throw mismatch(
    names.length === 0
      ? 'the database has rows of objects, and the prefix has no object'
      : 'the prefix has objects, and the database knows none of them',
  );
}

/** Of the first page that has objects of Assay. */
async function someNames(objects: Objects): Promise<readonly string[]> {
  let after: string | undefined;
  for (let page = 0; page < FLEET.identifyPages; page++) {
    const listed = await objects.list(after);
    const names = listed.objects.map(({ name }) => name).filter((name) => UUID.test(name));
    after = listed.after;
    if (names.length > 0 || after === undefined) return names;
  }
  return [];
}

function nameOf(object: FleetObject | 'damaged'): string {
  return object === 'damaged' ? 'another fleet' : `fleet ${object.fleet}`;
}

function mismatch(detail: string): AssayError {
  return new AssayError('ASSAY_FLEET_MISMATCH', detail);
}
