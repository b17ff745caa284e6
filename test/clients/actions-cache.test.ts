// @actions/cache, the library behind actions/cache and most setup actions: one runner saves, another restores.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';

/** Larger caches are uploaded in blocks. */
const SINGLE_UPLOAD_BYTES = 128 * 1024 * 1024;
const SIZES = { 'in one upload': 3_000_000, 'in blocks': SINGLE_UPLOAD_BYTES + 1_000_000 };

test.each(Object.entries(SIZES))(
  'a cache that one runner saved %s is restored by another',
  { timeout: 4 * MINUTES },
  async (_how, size) => {
    const shop = workshop();
    const url = await servedFrom(shop);
    const bytes = randomBytes(size);
    fill(shop, bytes);
    expect(await step(shop, url, 'save', 'deps-1')).toMatch(/^answer: [1-9]\d*$/m);
    empty(shop);
    const said = await step(shop, url, 'restore', 'deps-1');
    expect(said).toContain('Cache hit for: deps-1');
    expect(said).toContain('answer: deps-1');
    expect(kept(shop).equals(bytes)).toBe(true);
  },
);

test('a cache is restored by a prefix of its key, and saved only once', {
  timeout: 2 * MINUTES,
}, async () => {
  const shop = workshop();
  const url = await servedFrom(shop);
  fill(shop, Buffer.from('one'));
  await step(shop, url, 'save', 'deps-linux-1');
  expect(await step(shop, url, 'save', 'deps-linux-1')).toContain('answer: -1');
  fill(shop, Buffer.from('two'));
  await step(shop, url, 'save', 'deps-linux-2');
  empty(shop);
  const said = await step(shop, url, 'restore', 'deps-linux-3', 'deps-mac-', 'deps-linux-');
  expect(said).toContain('Cache hit for restore-key: deps-linux-2');
  expect(kept(shop).toString()).toBe('two');
  expect(await step(shop, url, 'restore', 'other', 'nothing-')).toContain('answer: undefined');
});

test('a read-only server reports that it denies a save', { timeout: 2 * MINUTES }, async () => {
  const shop = workshop();
  const url = await servedFrom(shop, 'source', ['--read-only']);
  fill(shop, Buffer.from('one'));
  const said = await step(shop, url, 'save', 'deps-1');
  expect(said).toContain('cache write denied: this server is read-only');
  expect(said).not.toContain('another job');
  expect(said).toContain('answer: -1');
});

test('a server that keeps nothing restores nothing', { timeout: 2 * MINUTES }, async () => {
  const shop = workshop();
  const url = await forgetfulServer();
  fill(shop, Buffer.from('one'));
  await step(shop, url, 'save', 'deps-1');
  expect(await step(shop, url, 'restore', 'deps-1', 'deps-')).toContain('answer: undefined');
});

function fill({ workspace }: Workshop, bytes: Buffer): void {
  mkdirSync(join(workspace, 'deps'), { recursive: true });
  writeFileSync(join(workspace, 'deps', 'file'), bytes);
}

function empty({ workspace }: Workshop): void {
  rmSync(join(workspace, 'deps'), { recursive: true });
}

function kept({ workspace }: Workshop): Buffer {
  return readFileSync(join(workspace, 'deps', 'file'));
}

function step(
  { folder, workspace }: Workshop,
  url: string,
  ...args: readonly [string, ...string[]]
): Promise<string> {
  const [verb, ...keys] = args;
  return run([process.execPath, join(import.meta.dirname, 'actions-cache.ts'), verb, 'deps', ...keys], {
    cwd: workspace,
    home: folder,
    env: {
      ACTIONS_CACHE_SERVICE_V2: 'true',
      ACTIONS_RESULTS_URL: `${url}/`,
      ACTIONS_RUNTIME_TOKEN: TOKEN,
      GITHUB_WORKSPACE: workspace,
      RUNNER_TEMP: folder,
    },
  });
}
