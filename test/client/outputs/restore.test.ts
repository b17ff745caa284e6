// A hit restores outputs exactly, and changes nothing that is already correct.
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileDigests } from '../../../client/files/file-digest.ts';
import { StatIndex } from '../../../client/files/stat-index.ts';
import type { Output } from '../../../client/outputs/outputs.ts';
import { restoreOutputs } from '../../../client/outputs/restore.ts';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { parseRelPath } from '../../../core/path.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Blobs, LargeBlob } from '../../../store/store.ts';
import { Workshop } from '../../rig/assay.ts';
import { Random } from '../../rig/random.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { describeTree } from '../../rig/tree.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
  shop.script(
    'make.sh',
    'mkdir -p out/empty out/deep/er bin',
    'cp in.txt out/plain; cp in.txt out/deep/er/file',
    'printf "#!/bin/sh\\necho hi\\n" > bin/tool; chmod 755 bin/tool',
    'ln -s deep/er/file out/link; ln -s nowhere out/dangling; ln -s out/plain top-link',
  );
});

afterEach(() => shop.remove());

const FLAGS = [
  '--input',
  'in.txt',
  '--input',
  'make.sh',
  '--output',
  'out',
  '--output',
  'bin/tool',
  '--output',
  'top-link',
];
const build = () => shop.run([...FLAGS, '--', './make.sh']);
const path = (name: string) => join(shop.workspace, name);

test('content, executable bits, links and empty folders are restored', async () => {
  await build();
  const made = describeTree(shop.workspace);
  for (const name of ['out', 'bin', 'top-link']) rmSync(path(name), { recursive: true });
  const { summary } = await build();
  expect(summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 3 });
  expect(describeTree(shop.workspace)).toEqual(made);
});

test('correct outputs are not written again', async () => {
  await build();
  const before = statSync(path('out/plain'), { bigint: true });
  const { summary } = await build();
  expect(summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
  const after = statSync(path('out/plain'), { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
});

test('a correct file in a wrong folder keeps its inode and time', async () => {
  await build();
  const before = statSync(path('out/plain'), { bigint: true });
  rmSync(path('out/deep/er/file'));
  expect((await build()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 1 });
  const after = statSync(path('out/plain'), { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  expect(readFileSync(path('out/deep/er/file'), 'utf8')).toBe('input');
});

test.each([
  ['an edited file', () => writeFileSync(path('out/plain'), 'hacked')],
  ['an edit that keeps size and time', () => rewriteInPlace('out/plain', 'INPUT')],
  ['a stray file', () => writeFileSync(path('out/stray'), 'x')],
  ['a stray folder', () => mkdirSync(path('out/empty/stray'))],
  ['a lost executable bit', () => chmodSync(path('bin/tool'), 0o644)],
  ['a gained executable bit', () => chmodSync(path('out/plain'), 0o755)],
  ['a missing empty folder', () => rmSync(path('out/empty'), { recursive: true })],
  ['a link that points elsewhere', () => relink('out/link', 'plain')],
  ['a folder where a file should be', () => replaceByFolder('bin/tool')],
  ['a file where a folder should be', () => replaceByFile('out')],
])('%s in an output is corrected', async (_name, spoil) => {
  await build();
  const made = describeTree(shop.workspace);
  await settle();
  spoil();
  expect(describeTree(shop.workspace)).not.toEqual(made);
  expect((await build()).summary.outcome).toBe('hit-local');
  expect(describeTree(shop.workspace)).toEqual(made);
});

test('a link in place of an output’s parent folder is never written through', async () => {
  await build();
  const outside = shop.another('outside');
  rmSync(path('bin'), { recursive: true });
  symlinkSync(outside, path('bin'));
  const ran = await build();
  expect(ran.summary).toMatchObject({ outcome: 'miss', published: false });
  expect(lstatSync(path('bin')).isSymbolicLink()).toBe(true);
});

test('nothing is left behind in the workspace', async () => {
  await build();
  rmSync(path('out'), { recursive: true });
  await build();
  expect(shop.has('.assay')).toBe(false);
});

/** Records the outputs in the stat index, so that a check that trusts it too much would be wrong. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  await build();
}

function rewriteInPlace(name: string, content: string): void {
  const { atime, mtime, size } = statSync(path(name));
  expect(content.length).toBe(size);
  writeFileSync(path(name), content);
  utimesSync(path(name), atime, mtime);
}

function relink(name: string, target: string): void {
  rmSync(path(name));
  symlinkSync(target, path(name));
}

function replaceByFolder(name: string): void {
  rmSync(path(name));
  mkdirSync(path(name));
}

function replaceByFile(name: string): void {
  rmSync(path(name), { recursive: true });
  writeFileSync(path(name), 'x');
}

describe('a file of several chunks', () => {
  const CHUNK = STORE.chunkBytes;
  const restoreFile = (digest: Digest, blobs: Blobs) => {
    const output: Output = { kind: 'file', path: parseRelPath('large'), digest, executable: false };
    return restoreOutputs(
      [output],
      shop.workspace,
      blobs,
      fileDigests(new StatIndex(path('index')), Date.now),
    );
  };

  test.each([CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5])(
    'of %i bytes is restored completely',
    async (size) => {
      const bytes = new Random(size).bytes(size);
      const store = await openDiskStore({ directory: shop.store });
      try {
        const digest = await store.blobs.put(digestOf(bytes), bytes);
        await restoreFile(digest, store.blobs);
        expect(readFileSync(path('large')).equals(bytes)).toBe(true);
      } finally {
        await store.close();
      }
    },
  );

  test('is not restored if one half is wrong, and no write is pending when the error is thrown', async () => {
    const whole = Buffer.alloc(2 * CHUNK, 'x');
    const ended: string[] = [];
    const blob: LargeBlob = {
      size: whole.length,
      async *chunks(offset = 0) {
        if (offset === 0) throw new AssayError('ASSAY_BLOB_CORRUPT', 'the first half');
        await delay(50);
        yield whole.subarray(offset);
        ended.push('the second half');
      },
    };
    const store = openMemoryStore();
    const restored = restoreFile(digestOf(whole), { ...store.blobs, get: async () => blob });
    await expect(restored).rejects.toThrow('the first half');
    expect(ended).toEqual(['the second half']);
    expect(shop.has('large')).toBe(false);
  });
});
