// Nx with a self-hosted cache.
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { forgetfulServer, MINUTES, npmTool, run, servedFrom, TOKEN, TOOLS, workshop } from './rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from './scoped-builds.ts';

const COMMAND = `mkdir -p out && tr a-z A-Z < words.txt > out/shouted.txt && ${MAKE} && echo built`;
const FILES = {
  'package.json': { name: 'root', private: true, workspaces: ['pkg'] },
  'nx.json': {
    neverConnectToCloud: true,
    analytics: false,
    targetDefaults: { build: { cache: true, outputs: ['{projectRoot}/out'] } },
  },
  'pkg/package.json': {
    name: 'pkg',
    version: '1.0.0',
    nx: {
      targets: { build: { executor: 'nx:run-commands', options: { command: COMMAND, cwd: 'pkg' } } },
    },
  },
};

test('Nx restores a task’s outputs from the server', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const { cold, warm } = await coldAndWarm(shop, await servedFrom(shop));
  expect(cold.said).not.toContain('remote cache');
  expect(warm.said).toMatch(/nx run pkg:build +\[remote cache\]/);
  expect([cold.output, warm.output]).toEqual(['SOME WORDS\n', 'SOME WORDS\n']);
});

test('Nx gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
  const { warm } = await coldAndWarm(withPackage(), await forgetfulServer());
  expect(warm.said).not.toContain('remote cache');
  expect(warm.output).toBe('SOME WORDS\n');
});

test('Nx with tokens of main, of a pull request and of a reader', { timeout: 4 * MINUTES }, async () => {
  const shop = withPackage();
  await checkScopedBuilds(shop, {
    build(words, url, { token }) {
      shop.write('pkg/words.txt', words);
      return build(shop, url, token);
    },
    hit: /\[remote cache\]/,
    denied: undefined,
    revoked: /Unauthorized: ASSAY_UNAUTHORIZED: this server requires a token/,
  });
});

function withPackage(): Workshop {
  const shop = workshop();
  for (const [path, value] of Object.entries(FILES)) shop.write(path, JSON.stringify(value));
  shop.write('pkg/words.txt', 'some words\n');
  symlinkSync(TOOLS, join(shop.workspace, 'node_modules'));
  return shop;
}

interface Built extends ScopedBuild {
  readonly output: string;
}

async function coldAndWarm(shop: Workshop, url: string): Promise<{ cold: Built; warm: Built }> {
  return { cold: await build(shop, url), warm: await build(shop, url) };
}

async function build({ folder, workspace }: Workshop, url: string, token = TOKEN): Promise<Built> {
  const [cache, data] = [join(folder, 'nx-cache'), join(folder, 'nx-data')];
  const local = [cache, data, join(workspace, '.nx'), join(workspace, 'pkg/out')];
  for (const path of local) rmSync(path, { recursive: true, force: true });
  const said = await run([npmTool('nx'), 'run', 'pkg:build'], {
    cwd: workspace,
    home: folder,
    env: {
      CI: '1',
      NX_DAEMON: 'false',
      NX_TUI: 'false',
      NX_NO_CLOUD: 'true',
      NX_ISOLATE_PLUGINS: 'false',
      NX_CACHE_DIRECTORY: cache,
      NX_WORKSPACE_DATA_DIRECTORY: data,
      NX_SELF_HOSTED_REMOTE_CACHE_SERVER: url,
      NX_SELF_HOSTED_REMOTE_CACHE_ACCESS_TOKEN: token,
    },
  });
  const read = (name: string) => readFileSync(join(workspace, 'pkg/out', name), 'utf8');
  return { said, output: read('shouted.txt'), made: read('made') };
}
