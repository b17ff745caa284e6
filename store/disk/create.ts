// The beginning of a store: it is there whole and durable, or not at all. It is built under another name and renamed
// into place, because LMDB begins its file with headers that it does not sync before it uses them: a power loss
// would leave an index that can't be opened, and a name that is not synced would lose one that was written.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { makeFolder, mkdir, removeFolder, rename, syncFolder } from './fs/calls.ts';
import { type Layout, layoutIn } from './fs/layout.ts';
import { Index } from './index/index.ts';

/** What is declared to an action, its variables' values too, is stored with it, and is nobody else's on a shared machine. */
const PRIVATE = 0o700;

/** Any number of processes may do this at once. The quarantine comes last: where it exists, everything is durable. */
export async function createStore(layout: Layout): Promise<void> {
  const base = dirname(layout.index);
  const root = dirname(base);
  await makeFolder(root, PRIVATE);
  if (!existsSync(base)) await buildThenRename(join(root, `founding-${nodeCrypto().randomUUID()}`), base);
  for (const folder of [layout.index, layout.files, layout.staging]) await makeFolder(folder);
  await syncFolder(root);
  await makeFolder(layout.quarantine);
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
