// I7: a store's folder is removed or replaced by another one while a process uses it.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import { STORE } from '../../../../store/limits.ts';
import { contentOf, putOne, readFrom } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const { folder, open } = useFolders();
const LEASE = 1_000_000;
const PATIENCE = { timeout: 90_000 };

async function setUp() {
  const machine = { time: 1000 };
  const directory = folder();
  const clock = { name: 'boot', now: () => machine.time };
  const store = await open({ directory, clock, leaseMs: LEASE, maxSize: { share: 1 } });
  await putOne(store, contentOf('before', 1000));
  let puts = 0;
  const outcome = (bytes: number) =>
    putOne(store, contentOf(`put ${puts++}`, bytes)).then(
      () => 'stored',
      (error: unknown) => (error instanceof AssayError ? error.code : String(error)),
    );
  return { machine, directory, store, outcome };
}

test.each([1000, STORE.inlineBytes + 1])(
  'I7: a put of %i bytes fails instead of going to a deleted store',
  async (size) => {
    const { directory, store, outcome } = await setUp();
    const away = folder();
    renameSync(join(directory, 'v5'), join(away, 'v5'));
    await vi.waitUntil(async () => (await outcome(size)) === 'ASSAY_STORE_FAULT', PATIENCE);
    const another = await open({ directory });
    await vi.waitUntil(async () => (await outcome(size)) === 'ASSAY_STORE_FAULT', PATIENCE);
    expect(await putOne(another, contentOf('another', size))).toBeDefined();
    await another.close();
    rmSync(join(directory, 'v5'), { recursive: true });
    renameSync(join(away, 'v5'), join(directory, 'v5'));
    expect(await outcome(size)).toBe('stored');
    const before = contentOf('before', 1000);
    expect((await readFrom(store, digestOf(before)))?.equals(before)).toBe(true);
  },
);

test('I7: another store in its place is not cleaned up', async () => {
  const { machine, directory, store, outcome } = await setUp();
  renameSync(join(directory, 'v5'), join(folder(), 'v5'));
  const { hash } = digestOf(contentOf('of another store', 10));
  const file = join(directory, 'v5/files', hash.slice(0, 2), `${hash}-0000075bcd15`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'of another store');
  await vi.waitUntil(async () => (await outcome(1000)) === 'ASSAY_STORE_FAULT', PATIENCE);
  for (let round = 0; round < 4; round++) {
    await expect(store.reconcile(async () => {})).rejects.toThrow('ASSAY_STORE_FAULT');
    machine.time += LEASE;
  }
  expect(existsSync(file)).toBe(true);
});
