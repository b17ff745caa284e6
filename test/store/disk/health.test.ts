// A store whose folders can't be reached while it is open. A loop of links stands for every such fault: as
// root, no permission is missing.
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LAYOUT_VERSION } from '../../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../../store/open.ts';
import { temporaryFolder } from '../../rig/stores/disk-store.ts';
import { contentOf, putOne } from '../content.ts';

async function openStore() {
  const directory = temporaryFolder();
  const store = await openDiskStore({ directory, onEvent: () => {}, maxSize: { bytes: 100_000_000 } });
  onTestFinished(() => store.close());
  return { store, folder: (name: string) => join(directory, LAYOUT_VERSION, name) };
}

test.each([true, false])('an index that can’t be reached is a fault (written: %s)', async (isWritten) => {
  const { store, folder } = await openStore();
  renameSync(folder('index'), folder('away'));
  symlinkSync('index', folder('index'));
  expect(await store.fault?.(isWritten)).toBe('the store can’t be reached');
  await expect(putOne(store, contentOf('a blob', 1000))).rejects.toThrow(
    /^ASSAY_STORE_FAULT: reading the size of the store: ELOOP/,
  );
  rmSync(folder('index'));
  renameSync(folder('away'), folder('index'));
  expect(await store.fault?.(isWritten)).toBeUndefined();
  await putOne(store, contentOf('a blob', 1000));
});

test('a quarantine that can’t be read refuses no write', async () => {
  const { store, folder } = await openStore();
  rmSync(folder('quarantine'), { recursive: true, force: true });
  writeFileSync(folder('quarantine'), '');
  await putOne(store, contentOf('a blob', 1000));
  expect(await store.fault?.(true)).toBeUndefined();
});
