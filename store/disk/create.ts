// Creates a store. Afterwards it exists complete and durable, or not at all, even after a power loss.
// It is built under a temporary name, synced, and renamed. LMDB uses the headers of a new file before it
// syncs them, so a power loss could otherwise leave an index that can't be opened.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { makeDurableFolder, mkdir, removeFolder, rename, syncFolder } from '../../system/files/calls.ts';
import { type Layout, layoutIn } from './fs/layout.ts';
import { Index } from './index/index.ts';

/** Nobody else on a shared machine may read it: a stored action contains the values of its variables. */
const PRIVATE = 0o700;

/**
 * Any number of processes may call this at once. The quarantine folder is made last: if it exists, all else
 * is durable.
 */
export async function createStore(layout: Layout): Promise<void> {
  const base = dirname(layout.index);
  const root = dirname(base);
  await makeDurableFolder(root, PRIVATE);
  if (!existsSync(base)) await buildThenRename(join(root, `founding-${nodeCrypto().randomUUID()}`), base);
  for (const folder of [layout.index, layout.files, layout.staging]) await makeDurableFolder(folder);
  await syncFolder(root);
  await makeDurableFolder(layout.quarantine);
}

async function buildThenRename(aside: string, base: string): Promise<void> {
  try {
    const { index, files, staging } = layoutIn(aside);
    for (const folder of [aside, index, files, staging]) await mkdir(folder, PRIVATE);
    await createIndex(index);
    for (const folder of [index, aside]) await syncFolder(folder);
    await renameUnlessTaken(aside, base);
  } finally {
    await removeFolder(aside);
  }
}

async function createIndex(folder: string): Promise<void> {
  const index = Index.open(folder);
  index.tables.createAll();
  await index.close();
}

async function renameUnlessTaken(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isSystemError(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}
