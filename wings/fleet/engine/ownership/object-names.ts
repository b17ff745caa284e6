// The names of objects: random UUIDs, each used once, whose end says which epoch wrote it.
//
// Orphans are told apart by that. What another database writes under the same prefix never looks like an orphan of this
// one, also if that database learns only later that it is not the owner. Of the 122 bits, 90 are random.
import type { FleetRow } from './fleet-row.ts';

const TAG_DIGITS = 8;
/** Of a database that is not the owner, or does not know yet: nobody deletes its objects as orphans. */
const NOBODYS = '0'.repeat(TAG_DIGITS);
/** A UUID of version 8 has what its maker wants. Earlier versions of Assay wrote version 4. */
const VERSION_AT = 14;
const TAGGED = '8';

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Without an epoch: a name that is nobody's. */
export function newName(epoch: string | undefined): string {
  const random = crypto.randomUUID();
  return (
    random.slice(0, VERSION_AT) +
    TAGGED +
    random.slice(VERSION_AT + 1, -TAG_DIGITS) +
    (epoch === undefined ? NOBODYS : tagOf(epoch))
  );
}

/** Whether the owner may take an object for its own orphan. Objects without a tag: as long as nobody has adopted. */
export function isOwnName(name: string, { epoch, superseded }: FleetRow): boolean {
  if (!UUID.test(name)) return false;
  return name[VERSION_AT] === TAGGED ? name.endsWith(tagOf(epoch)) : superseded.length === 0;
}

function tagOf(epoch: string): string {
  return epoch.slice(-TAG_DIGITS);
}
