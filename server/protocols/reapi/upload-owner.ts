// Decides which of several concurrent writes to one resource name owns the resumable upload.
// Clients may write one name twice at the same time (BuildStream does), and each write must succeed.
//
// The first write owns the name, and its upload can be resumed. A write that begins at 0 meanwhile gets a
// temporary upload, which ends with the write. A write at a later offset is a resumed one. It takes over the
// name, because the owner's connection is probably broken. Only writes to the same server process know of
// each other.
import { randomUUID } from 'node:crypto';
import type { Uploads } from '../../../store/store.ts';
import type { ScopedUploads } from '../../access/scoped-store.ts';

/** By the whole store's uploads and the scoped id. */
const ownersOf = new WeakMap<Uploads, Map<string, symbol>>();

interface OwnUpload {
  readonly id: string;
  readonly isShared: boolean;
}

/** Calls `write` with the upload that it may use until it settles. */
export async function withUpload<T>(
  uploads: ScopedUploads,
  id: string,
  offset: number,
  write: (own: OwnUpload) => Promise<T>,
): Promise<T> {
  const owners = ownersOf.get(uploads.whole) ?? new Map<string, symbol>();
  ownersOf.set(uploads.whole, owners);
  const name = uploads.scoped(id);
  if (offset === 0 && owners.has(name)) return withTemporaryUpload(uploads, `${id}:${randomUUID()}`, write);
  const owner = Symbol(id);
  owners.set(name, owner);
  try {
    return await write({ id, isShared: true });
  } finally {
    if (owners.get(name) === owner) owners.delete(name);
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
