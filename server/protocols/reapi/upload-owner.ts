// Which write keeps its parts under its resource name. Clients may write the same name twice at the same time
// (BuildStream does), and each write must succeed by itself.
//
// The first write owns the name, and what it leaves behind can be resumed. A write that begins at 0 meanwhile
// gets an upload of its own, which is forgotten when the write ends. A write that goes on at a later offset
// is a resumed one: it takes the name over, because the connection of the owner is most likely broken. Only
// writes to the same server know of each other.
import { randomUUID } from 'node:crypto';
import type { Uploads } from '../../../store/store.ts';

const ownersOf = new WeakMap<Uploads, Map<string, symbol>>();

export interface OwnUpload {
  readonly id: string;
  readonly isShared: boolean;
}

/** `write` gets the upload that it may use, until it settles. */
export async function withUpload<T>(
  uploads: Uploads,
  id: string,
  offset: number,
  write: (own: OwnUpload) => Promise<T>,
): Promise<T> {
  const owners = ownersOf.get(uploads) ?? new Map<string, symbol>();
  ownersOf.set(uploads, owners);
  if (offset === 0 && owners.has(id)) return withTemporaryUpload(uploads, `${id}:${randomUUID()}`, write);
  const owner = Symbol(id);
  owners.set(id, owner);
  try {
    return await write({ id, isShared: true });
  } finally {
    if (owners.get(id) === owner) owners.delete(id);
  }
}

async function withTemporaryUpload<T>(
  uploads: Uploads,
  id: string,
  write: (own: OwnUpload) => Promise<T>,
): Promise<T> {
  try {
    return await write({ id, isShared: false });
  } finally {
    await uploads.cancel(id);
  }
}
