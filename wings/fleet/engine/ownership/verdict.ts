// Whether a database may delete the objects of its bucket: the row compared with the object.
// Guarantee: of two databases whose row and object were ever written by different commands or rounds, one is the owner.
import type { FleetObject } from './fleet-object.ts';
import type { FleetState } from './fleet-row.ts';

export type OwnershipVerdict =
  | { readonly kind: 'owner' }
  /** A late PUT has brought back what this database has superseded: the object must be written again. */
  | { readonly kind: 'outdated object' }
  /** `isFinal`: only `assay db adopt` ends it. */
  | { readonly kind: 'stopped'; readonly detail: string; readonly isFinal: boolean };

const ADOPT = 'If this database shall own the objects, run `assay db adopt`';

export function judgeOwnership(
  { here, row }: FleetState,
  object: FleetObject | 'absent' | 'damaged',
): OwnershipVerdict {
  if (!row) return stopped('the row of assay.fleet is gone: was another dump restored?');
  if (row.isFinal) return { kind: 'stopped', detail: row.alarm ?? '', isFinal: true };
  if (object === 'absent') return stopped('the bucket has no object assay-fleet: somebody has removed it');
  if (object === 'damaged') return stopped('the object assay-fleet can’t be understood');
  if (object.fleet !== row.fleet)
    return stopped(`the objects belong to fleet ${object.fleet}, and the database to fleet ${row.fleet}`);
  if (row.database !== here)
    return stopped(`this database (${here}) is a copy of another one (${row.database})`, true);
  if (row.superseded.includes(object.epoch)) return { kind: 'outdated object' };
  if (object.epoch !== row.epoch)
    return stopped(`another database (${object.database}) has adopted the objects`, true);
  if (object.database !== here)
    return stopped(`another database (${object.database}) writes the object assay-fleet`, true);
  if (!row.marks.includes(object.mark))
    return stopped(
      object.rounds > row.rounds
        ? `this database is ${object.rounds - row.rounds} rounds behind the object assay-fleet: an older state was restored, or another copy of it is in use`
        : 'another copy of this database is in use, and writes the object assay-fleet',
      true,
    );
  return { kind: 'owner' };
}

function stopped(reason: string, isFinal = false): OwnershipVerdict {
  return { kind: 'stopped', detail: `No object is deleted: ${reason}. ${ADOPT}`, isFinal };
}
