// The row of a fleet in PostgreSQL: which fleet its tables belong to, and how often its janitor has gone round.
// Guarantee: a statement that changes the row names the epoch that was read, so a change between them is never lost.
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import { ORPHAN } from '../index/object-rows.ts';

/** So many marks are remembered: an object that a request of so many rounds ago overwrites is still this database's. */
const MARKS = 64;
/** Stands for an epoch that nobody knows. */
const NOBODYS = '00000000-0000-0000-0000-000000000000';

export interface FleetRow {
  readonly fleet: string;
  /** Random. `assay db adopt` writes a new one. */
  readonly epoch: string;
  /** Rounds of the janitor. */
  readonly rounds: number;
  /** A random mark of each of the last rounds, the newest first. */
  readonly marks: readonly string[];
  /** The database that the row was written for. A dump carries it elsewhere. */
  readonly database: string;
  /** The epochs before this one, the newest first. Empty as long as nobody has adopted. */
  readonly superseded: readonly string[];
  /** Why no object may be deleted. */
  readonly alarm: string | null;
  /** Only `assay db adopt` ends the alarm. */
  readonly isFinal: boolean;
  /** Orphans that the janitor did not dare to delete. */
  readonly orphans: number | null;
}

/** What no dump carries: PostgreSQL's system identifier, and the oid of the database. A new name changes neither. */
export const HERE = `(
  SELECT s.system_identifier || '/' || d.oid FROM pg_control_system() s, pg_database d
  WHERE d.datname = current_database())`;

const READ: Statement = {
  name: 'fleet read',
  text: `
    SELECT ${HERE} AS here, f.fleet::text, f.epoch::text, f.rounds, f.marks::text[] AS marks, f.database,
      f.superseded::text[] AS superseded, f.alarm, f.is_final AS "isFinal", f.orphans
    FROM (SELECT) AS one LEFT JOIN assay.fleet f ON true`,
};

/** No row comes back if there is one already. */
const ADD: Statement = {
  name: 'fleet add',
  text: `
    INSERT INTO assay.fleet (fleet, epoch, rounds, marks, database, superseded)
    VALUES ($1, $2, 0, ARRAY[$3::uuid], ${HERE}, '{}') ON CONFLICT DO NOTHING RETURNING epoch`,
};

const ADVANCE: Statement = {
  name: 'fleet advance',
  text: `
    UPDATE assay.fleet SET rounds = rounds + 1, marks = $3::uuid || marks[1:${MARKS - 1}], alarm = NULL
    WHERE epoch = $1 AND rounds = $2 AND NOT is_final RETURNING epoch`,
};

const STOP: Statement = {
  name: 'fleet stop',
  text: `
    UPDATE assay.fleet SET alarm = $2, is_final = $3 WHERE epoch = $1 AND NOT is_final
      AND (alarm, is_final) IS DISTINCT FROM ($2::text, $3::boolean)`,
};

/** `$4`: the count of the object, `$5`: its epoch. What counts as an orphan is another question then. */
const ADOPT: Statement = {
  name: 'fleet adopt',
  text: `
    WITH begun_anew AS (DELETE FROM assay.object WHERE state = ${ORPHAN})
    INSERT INTO assay.fleet AS f (fleet, epoch, rounds, marks, database, superseded)
    VALUES ($1, $2, $4 + 1, ARRAY[$3::uuid], ${HERE}, ARRAY[coalesce($5::uuid, '${NOBODYS}')])
    ON CONFLICT (one) DO UPDATE SET fleet = $1, epoch = $2, rounds = greatest(f.rounds, $4) + 1,
      marks = ARRAY[$3::uuid], database = ${HERE}, alarm = NULL, is_final = false,
      orphans = NULL, listed_to = NULL, listed = 0,
      superseded = (excluded.superseded || f.epoch || f.superseded)[1:${FLEET.supersededEpochs}]`,
};

export interface FleetState {
  /** The database that answers. */
  readonly here: string;
  readonly row: FleetRow | undefined;
}

export async function readState(queries: Queries): Promise<FleetState> {
  const [read] = await queries.query<{ here: string } & { [name in keyof FleetRow]: FleetRow[name] | null }>(
    READ,
  );
  if (!read) throw new Error('PostgreSQL does not say which database this is');
  const { here, fleet, epoch, rounds, marks, database, superseded, isFinal } = read;
  if (
    fleet === null ||
    epoch === null ||
    rounds === null ||
    marks === null ||
    database === null ||
    superseded === null ||
    isFinal === null
  )
    return { here, row: undefined };
  const { alarm, orphans } = read;
  return { here, row: { fleet, epoch, rounds, marks, database, superseded, alarm, isFinal, orphans } };
}

/** A new fleet, or one of an earlier version. Of two nodes that do so at once, one adds the row of both. */
export async function addRow(queries: Queries): Promise<void> {
  await queries.query(ADD, [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]);
}

/** False if the row has changed since it was read. */
export async function advance(queries: Queries, { epoch, rounds }: FleetRow): Promise<boolean> {
  return (await queries.query(ADVANCE, [epoch, rounds, crypto.randomUUID()])).length > 0;
}

export async function stop(
  queries: Queries,
  { epoch }: FleetRow,
  detail: string,
  isFinal: boolean,
): Promise<void> {
  await queries.query(STOP, [epoch, detail, isFinal]);
}

/** A new epoch, whatever the row was. `superseded`: the epoch of the object, if it is known. */
export async function takeOver(
  queries: Queries,
  fleet: string,
  rounds: number,
  superseded: string | undefined,
): Promise<void> {
  const values = [fleet, crypto.randomUUID(), crypto.randomUUID(), rounds, superseded ?? null];
  await queries.query(ADOPT, values);
}
