// The permissions of a new store: only its owner can read it, whatever the umask is.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createStore } from '../../../store/disk/create.ts';
import { layoutIn } from '../../../store/disk/fs/layout.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-founding-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('nobody else can read a new store', async () => {
  const root = join(folder, 'above', 'store');
  const layout = layoutIn(join(root, 'v'));
  await createStore(layout);
  expect([root, dirname(layout.index)].map(modeOf)).toEqual([0o700, 0o700]);
  expect(modeOf(dirname(root))).toBe(0o777 & ~process.umask());
});

test('an existing folder keeps its permissions, and only the owner can read the store in it', async () => {
  const root = join(folder, 'store');
  mkdirSync(root);
  chmodSync(root, 0o755);
  const layout = layoutIn(join(root, 'v'));
  await createStore(layout);
  expect([root, dirname(layout.index)].map(modeOf)).toEqual([0o755, 0o700]);
});
