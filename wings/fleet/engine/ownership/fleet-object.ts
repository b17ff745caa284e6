// The object `assay-fleet`, beside the objects of a fleet: it names the database that may delete them.
//
// It is the one object that is overwritten. So a late PUT can bring an older content back: ownership.ts expects that.
// Guarantee: content that was cut or changed on the way is told from any content that was written.
import { sha256 } from '../../../../core/sha256.ts';
import type { Objects } from '../objects.ts';
import type { FleetRow } from './fleet-row.ts';

/** No UUID, so no janitor takes it for an object of its own. */
export const FLEET_OBJECT = 'assay-fleet';

export type FleetObject = Pick<FleetRow, 'fleet' | 'epoch' | 'database' | 'rounds'> & {
  /** The row of the owner has it among its marks. */
  readonly mark: string;
};

const MAX_BYTES = 4096;
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const CONTENT = new RegExp(
  `^(?<body>[^\\n]*\\nfleet (?<fleet>${UUID})\\nepoch (?<epoch>${UUID})\\ndatabase (?<database>[-0-9]+/[0-9]+)\\n` +
    `rounds (?<rounds>[0-9]{1,15})\\nmark (?<mark>${UUID})\\n)check (?<check>[0-9a-f]{64})\\n$`,
);

function encode({ fleet, epoch, database, rounds, mark }: FleetObject): Buffer {
  const body = [
    'Assay: the database that owns the objects beside this one. Do not remove it. See wings/fleet/GUIDE.md, Ownership.',
    `fleet ${fleet}`,
    `epoch ${epoch}`,
    `database ${database}`,
    `rounds ${rounds}`,
    `mark ${mark}\n`,
  ].join('\n');
  return Buffer.from(`${body}check ${sha256(Buffer.from(body))}\n`);
}

/** Undefined: no content that was ever written. */
export function decode(content: string): FleetObject | undefined {
  const { body, fleet, epoch, database, rounds, mark, check } = CONTENT.exec(content)?.groups ?? {};
  if (!body || !fleet || !epoch || !database || !mark || sha256(Buffer.from(body)) !== check)
    return undefined;
  return { fleet, epoch, database, rounds: Number(rounds), mark };
}

/** Throws while the bucket is away. `absent`: it says NoSuchKey. */
export async function readObject(objects: Objects): Promise<FleetObject | 'absent' | 'damaged'> {
  const content = await objects.get(FLEET_OBJECT, 0, MAX_BYTES);
  if (!content) return 'absent';
  return decode(Buffer.concat(await Array.fromAsync(content)).toString()) ?? 'damaged';
}

/** The newest mark of the row, which PostgreSQL has had since the round before. */
export async function putObject(objects: Objects, row: FleetRow): Promise<void> {
  const { fleet, epoch, database, rounds, marks } = row;
  const bytes = encode({ fleet, epoch, database, rounds, mark: marks[0] ?? '' });
  await objects.put(FLEET_OBJECT, bytes, bytes.length);
}
