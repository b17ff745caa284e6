// The checkpoints that are stored, in the local store and at the remote: what each of them is, and whether it can be
// restored. Nothing but a copy of a list of files is written for it.
//
// A local checkpoint counts as valid if every byte of it was read and is right. Of one at the remote only the list of its
// files is read: the remote says that it has their content.
import { RemoteFault } from '../../../client/remote/remote.ts';
import { download } from '../../../client/remote/transfer.ts';
import { type Hash, isHash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import type { RelPath } from '../../../core/path.ts';
import { decodeResult, referencedContent } from '../../../core/result.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { BlobReader, Store } from '../../../store/store.ts';
import { madeInMs, outputsIn, takenAt } from '../snapshot.ts';
import { type SnapshotRemote, type SnapshotStore, snapshotKey } from '../snapshot-store.ts';
import { CHECKPOINT_NAMESPACE, numberIn } from './checkpoints.ts';
import { type Note, noteIn } from './note.ts';

interface StoredFile {
  readonly path: string;
  readonly size: number;
}

export interface StoredCheckpoint extends Note {
  /** Of the action. */
  readonly key: Hash;
  readonly number: number;
  readonly from: 'local' | 'remote';
  readonly label: string;
  /** In milliseconds since 1970. Undefined if nothing of it can be read. */
  readonly takenAt?: number;
  /** How long the runs took that led to it. */
  readonly madeInMs: number;
  readonly folders: readonly RelPath[];
  readonly files: readonly StoredFile[];
  readonly bytes: number;
  /** Why it can't be restored; undefined if it can be. */
  readonly fault?: string;
}

/** Newest first. `wanted`: of this action alone; only then the remote is asked, too. */
export async function checkpointsIn(
  snapshots: SnapshotStore,
  wanted: Hash | undefined,
): Promise<StoredCheckpoint[]> {
  const { store, elsewhere } = snapshots.places;
  const found: StoredCheckpoint[] = [];
  const isAnyAction = wanted === undefined;
  for (const { label, from } of await snapshots.all(isAnyAction ? '' : `${wanted}/`, isAnyAction)) {
    const head = headOf(label, from);
    if (!head) continue;
    const one =
      from === 'local'
        ? await localCheckpoint(store, head)
        : elsewhere && (await remoteCheckpoint(head, elsewhere, store));
    if (one) found.push(one);
  }
  return found.sort((a, b) => (b.takenAt ?? 0) - (a.takenAt ?? 0));
}

/** The actions that have local checkpoints, with the steps that these name. Reads no content. */
export async function* actionsIn(
  snapshots: SnapshotStore,
): AsyncGenerator<Pick<StoredCheckpoint, 'key' | 'step'>> {
  const { store } = snapshots.places;
  for (const { label } of await snapshots.all('', true)) {
    const head = headOf(label, 'local');
    const { hash } = snapshotKey(CHECKPOINT_NAMESPACE, label);
    const stored = head && (await store.results.get({ namespace: CHECKPOINT_NAMESPACE, key: hash }));
    if (head && stored) yield { key: head.key, ...noteIn(stored.bytes) };
  }
}

/** KEY/COUNT, or KEY/FENCE/COUNT of a run with an action lease. Undefined for another label. */
function headOf(label: string, from: StoredCheckpoint['from']): Head | undefined {
  const [key = '', ...rest] = label.split('/');
  const number = numberIn(label);
  return isHash(key) && rest.length <= 2 && number > 0 ? { key, number, from, label } : undefined;
}

/** Undefined for one that was dropped. */
async function localCheckpoint(store: Store, head: Head): Promise<StoredCheckpoint | undefined> {
  const { hash } = snapshotKey(CHECKPOINT_NAMESPACE, head.label);
  const stored = await store.results.get({ namespace: CHECKPOINT_NAMESPACE, key: hash });
  if (!stored)
    return {
      ...head,
      ...NOTHING_KNOWN,
      fault: 'some of its content is not stored: evicted, or found damaged',
    };
  const described = await describe(head, stored.bytes, store.blobs);
  if (described === undefined || described.fault !== undefined) return described;
  for (const { hash } of stored.references) {
    const fault = await faultIn(hash, store.blobs);
    if (fault !== undefined) return { ...described, fault };
  }
  return described;
}

const NOTHING_KNOWN = { madeInMs: 0, folders: [], files: [], bytes: 0 } as const;

/** Reads all of it: the store checks every byte. */
async function faultIn(hash: Hash, blobs: BlobReader): Promise<string | undefined> {
  try {
    const blob = await blobs.get(hash);
    if (!blob) return `${hash.slice(0, 12)} of it is not stored`;
    if (!blob.bytes) for await (const _ of blob.chunks());
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

type Head = Pick<StoredCheckpoint, 'key' | 'number' | 'from' | 'label'>;

/** Undefined for one that was dropped: nothing is in it. */
async function describe(
  head: Head,
  bytes: Uint8Array,
  blobs: BlobReader,
): Promise<StoredCheckpoint | undefined> {
  try {
    const outputs = await outputsIn(bytes, ({ hash }) => readBlob(hash, blobs));
    if (outputs.length === 0) return undefined;
    const files = outputs.flatMap((output): StoredFile[] => {
      if (output.kind === 'file') return [{ path: output.path, size: output.digest.size }];
      if (output.kind === 'symlink') return [{ path: output.path, size: 0 }];
      return output.entries.flatMap((entry) =>
        entry.kind === 'directory'
          ? []
          : [{ path: `${output.path}/${entry.path}`, size: entry.kind === 'file' ? entry.digest.size : 0 }],
      );
    });
    return {
      ...head,
      ...noteIn(bytes),
      takenAt: takenAt(bytes),
      madeInMs: madeInMs(bytes),
      folders: outputs.map(({ path }) => path),
      files,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
    };
  } catch (error) {
    return { ...head, ...NOTHING_KNOWN, ...noteIn(bytes), takenAt: takenAt(bytes), fault: messageOf(error) };
  }
}

/** A remote that fails has none. */
async function remoteCheckpoint(
  head: Head,
  { remote }: SnapshotRemote,
  store: Store,
): Promise<StoredCheckpoint | undefined> {
  try {
    const bytes = await remote.getResult(snapshotKey(CHECKPOINT_NAMESPACE, head.label));
    if (!bytes) return undefined;
    const { trees } = referencedContent(decodeResult(bytes));
    await download(trees, store.blobs, remote, () => {});
    return await describe(head, bytes, store.blobs);
  } catch (error) {
    if (error instanceof RemoteFault) throw error;
    return { ...head, ...NOTHING_KNOWN, fault: messageOf(error) };
  }
}
