import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { addressOf, contentOf, readFrom, resultNaming, streamOf } from '../content.ts';
import { filesIn, makeFolder, removeFolder } from '../folders.ts';

const MIB = 1024 * 1024;
const DISK = 24 * MIB;

let disk: string;
let stores: Store[] = [];

beforeAll(() => {
  disk = makeFolder();
  run('mount', '-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', disk);
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
  for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true });
});

afterAll(() => {
  run('umount', disk);
  removeFolder(disk);
});

async function open(directory: string): Promise<Store> {
  const store = await openDiskStore({ directory });
  stores.push(store);
  return store;
}

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(
    `This test fills a small disk of its own, so it must be allowed to mount a tmpfs (as root, with CAP_SYS_ADMIN). ` +
      `${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`,
  );
}

/** Puts contents until one is refused. Returns those that were stored, and the refusal. */
async function fill(
  store: Store,
  name: string,
  size: number,
): Promise<{ taken: Buffer[]; refusal: unknown }> {
  const taken: Buffer[] = [];
  for (;;) {
    const bytes = contentOf(`${name} ${taken.length}`, size);
    try {
      await store.blobs.put(digestOf(bytes), streamOf(bytes, 65_536));
    } catch (refusal) {
      await expectAbsent(store, digestOf(bytes));
      return { taken, refusal };
    }
    taken.push(bytes);
  }
}

async function expectAbsent(store: Store, digest: Digest): Promise<void> {
  expect(await store.blobs.missing([digest])).toEqual([digest]);
  expect(await store.blobs.get(digest.hash)).toBeUndefined();
}

async function expectAllThere(store: Store, contents: readonly Buffer[]): Promise<void> {
  for (const bytes of contents) expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
}

describe('on a full disk', () => {
  test.each([
    ['large', 3 * MIB],
    ['small', 60_000],
    ['tiny', 100],
  ])(
    '%s puts are refused, nothing partial stays, and puts succeed when there is space again',
    async (name, size) => {
      const directory = join(disk, name);
      const ballast = join(disk, 'ballast');
      writeFileSync(ballast, Buffer.alloc(8 * MIB));
      const store = await open(directory);
      const filler = join(disk, 'filler');
      if (size < 10_000) writeFileSync(filler, Buffer.alloc(DISK - 8 * MIB - 2 * MIB));

      const { taken, refusal } = await fill(store, name, size);
      expect(refusal).toBeInstanceOf(AssayError);
      expect(refusal).toMatchObject({ code: 'ASSAY_DISK_FULL' });
      expect(taken.length).toBeGreaterThan(0);
      expect(filesIn(directory, 'staging')).toEqual([]);
      await expectAllThere(store, taken);

      rmSync(ballast);
      const more = [contentOf('more', size), contentOf('more large', 3 * MIB), contentOf('more small', 1000)];
      for (const bytes of more) await store.blobs.put(digestOf(bytes), bytes);
      expect(await store.results.put(addressOf('key'), resultNaming(...more.map(digestOf)))).toBe('stored');
      await expectAllThere(store, [...taken, ...more]);

      const reader = await open(directory);
      await expectAllThere(reader, [...taken, ...more]);
    },
  );

  test('of many concurrent puts each is stored whole or refused', async () => {
    const directory = join(disk, 'many');
    const store = await open(directory);
    const contents = Array.from({ length: 600 }, (_, index) => contentOf(`many ${index}`, 60_000));
    const outcomes = await Promise.allSettled(
      contents.map((bytes) => store.blobs.put(digestOf(bytes), bytes)),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const [index, bytes] of contents.entries()) {
      if (outcomes[index]?.status === 'fulfilled') await expectAllThere(store, [bytes]);
      else await expectAbsent(store, digestOf(bytes));
    }
  });

  test('a new store is refused with a clear message', async () => {
    writeFileSync(join(disk, 'filler'), Buffer.alloc(DISK - 256 * 1024));
    await expect(openDiskStore({ directory: join(disk, 'new') })).rejects.toMatchObject({
      code: 'ASSAY_DISK_FULL',
    });
  });
});
