// Points of a workspace, for programs: some folders are saved under a label, and rolled back to it.
// Guarantees:
// - Only what differs is written. A file that is as it was keeps its inode and its times.
// - What a rollback overwrites or removes is saved first, under a label that it returns.
// - A rollback that is killed leaves each folder as it was or as it becomes; the same call goes on.
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { refuseReserved } from '../../client/action/reserved.ts';
import type { FileDigests } from '../../client/files/file-digest.ts';
import type { RestoredPoint, SavedPoint, WorkspaceFolders } from '../../client/library/library-port.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { wrongOutputs } from '../../client/outputs/restore.ts';
import { openCache } from '../../client/run/caches.ts';
import { usage } from '../../core/cli/command.ts';
import { digestOf } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { isWithin, type RelPath, ROOT, relPathFromUser, toSystemPath } from '../../core/path.ts';
import { openSnapshotStore } from './open.ts';
import { takeSnapshot } from './snapshot.ts';
import type { SnapshotStore } from './snapshot-store.ts';

interface Opened {
  readonly root: string;
  readonly folders: readonly RelPath[];
  readonly digests: FileDigests;
  readonly snapshots: SnapshotStore;
}

export function savePoint(label: string, named: WorkspaceFolders): Promise<SavedPoint> {
  return withPoints(label, named, async (opened) => ({ outcome: await saveNow(label, opened) }));
}

export function restorePoint(label: string, named: WorkspaceFolders): Promise<RestoredPoint> {
  return withPoints(label, named, async (opened) => {
    const { root, folders, snapshots, digests } = opened;
    const wanted = await snapshots.outputsOf(label);
    if (!wanted)
      throw new AssayError('ASSAY_NOT_FOUND', `no point ${JSON.stringify(label)} of these folders is stored`);
    const gone = folders.filter(
      (path) => !wanted.some((output) => output.path === path) && isThere(root, path),
    );
    if (gone.length === 0 && wrongOutputs(wanted, root, digests).length === 0) return { written: 0 };
    const saved = `before ${label.slice(0, LONGEST_NAMED)} ${new Date().toISOString()} ${randomUUID()}`;
    const isSaved = folders.some((path) => isThere(root, path)) && (await saveNow(saved, opened)) === 'saved';
    const restored = await snapshots.restoreFrom(root, { label, from: 'local' });
    if (!restored)
      throw new AssayError('ASSAY_NOT_FOUND', `the point ${JSON.stringify(label)} can not be read`);
    for (const path of gone) rmSync(toSystemPath(root, path), { recursive: true, force: true });
    return { written: restored.written + gone.length, ...(isSaved && { saved }) };
  });
}

const LONGEST_NAMED = 200;

/** Of the folders that are there. A point without one of them says that it was not there. */
function saveNow(label: string, { root, folders, digests, snapshots }: Opened): Promise<'saved' | 'taken'> {
  const present = folders.filter((path) => isThere(root, path));
  if (present.length === 0)
    throw new AssayError('ASSAY_OUTPUT_UNFIT', `there is nothing at ${folders.join(', ')}`);
  return snapshots.save(label, takeSnapshot(root, present, digests, Date.now()));
}

async function withPoints<T>(
  label: string,
  named: WorkspaceFolders,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  if (typeof label !== 'string' || label === '') throw usage('a point needs a label');
  const { workspace = '.', folders: texts, store }: Partial<WorkspaceFolders> = Object(named);
  if (!Array.isArray(texts) || texts.length === 0 || ![...texts].every((one) => typeof one === 'string'))
    throw usage('folders takes a list of texts');
  if (!statSync(workspace, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`the workspace ${workspace} is not a folder`);
  const root = realpathSync(workspace);
  const folders = [...new Set(texts.map(relPathFromUser))].sort();
  for (const path of folders) {
    if (path === ROOT) throw usage('the whole workspace can not be rolled back; name its folders');
    refuseReserved(path);
    if (folders.some((other) => other !== path && isWithin(path, other)))
      throw usage(`${path} lies in another of the folders`);
  }
  const cache = openCache({
    storeFolder: storeFolder(store, process.env),
    workspace: root,
    now: Date.now,
    report: () => undefined,
  });
  try {
    const { hash } = digestOf(Buffer.from(folders.join('\0')));
    const namespace = parseNamespace(`points/${hash.slice(0, 32)}`);
    const fits = (held: readonly RelPath[]) => held.every((path) => folders.includes(path));
    const snapshots = await openSnapshotStore({ namespace, fits }, cache);
    if (!snapshots)
      throw new AssayError('ASSAY_STORE_FAULT', 'the local store is not usable, so no point can be kept');
    return await work({ root, folders, digests: cache.digests, snapshots });
  } finally {
    await cache.close();
  }
}

function isThere(root: string, path: RelPath): boolean {
  return existsSync(toSystemPath(root, path));
}
