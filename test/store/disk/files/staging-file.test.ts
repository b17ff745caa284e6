// A file that is written with O_DIRECT has the same bytes as any other, also where O_DIRECT is refused.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StagingFile } from '../../../../store/disk/files/staging-file.ts';
import { STORE } from '../../../../store/limits.ts';
import { acquireBuffer, releaseBuffer } from '../../../../store/shared/buffers.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-staging-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function pooled(content: Buffer): Buffer {
  const buffer = acquireBuffer();
  content.copy(buffer);
  return buffer.subarray(0, content.length);
}

async function write(path: string, chunks: readonly Buffer[], expectedSize: number): Promise<void> {
  const file = await StagingFile.create(path, expectedSize);
  for (const chunk of chunks) await file.append(chunk);
  await file.sync();
  await file.end();
}

test.each([0, 1, 4095, 4096, 4097, STORE.chunkBytes])('a last chunk of %i bytes', async (rest) => {
  const content = [randomBytes(STORE.chunkBytes), randomBytes(rest)];
  const chunks = content.map(pooled);
  const path = join(folder, 'file');
  await write(path, chunks, STORE.directBytes);
  expect(readFileSync(path).equals(Buffer.concat(content))).toBe(true);
  for (const chunk of chunks) releaseBuffer(chunk);
});

test('a chunk in memory that is not aligned to a page', async () => {
  const content = [0, 1, 2].map(() => randomBytes(STORE.chunkBytes));
  const path = join(folder, 'file');
  const [first, second, third] = content.map((chunk, at) => (at === 1 ? offByOne(chunk) : pooled(chunk)));
  if (!first || !second || !third) throw new Error('there are three');
  await write(path, [first, second, third], STORE.directBytes);
  expect(readFileSync(path).equals(Buffer.concat(content))).toBe(true);
  releaseBuffer(first);
  releaseBuffer(third);
});

test('a file system without O_DIRECT', async () => {
  const path = join('/dev/shm', `assay-staging-${process.pid}`);
  const content = [randomBytes(STORE.chunkBytes), randomBytes(17)];
  const chunks = content.map(pooled);
  try {
    await write(path, chunks, STORE.directBytes);
    expect(readFileSync(path).equals(Buffer.concat(content))).toBe(true);
  } finally {
    rmSync(path, { force: true });
    for (const chunk of chunks) releaseBuffer(chunk);
  }
});

function offByOne(content: Buffer): Buffer {
  const shifted = Buffer.alloc(content.length + 8192).subarray(1, content.length + 1);
  content.copy(shifted);
  return shifted;
}
