// Rush with its HTTP build cache. `rush install` would ask a registry for a package manager. The project has
// no packages, so the test writes the files that an install leaves behind.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { soak } from '../rig/soak.ts';
import { commitAll, forgetfulServer, MINUTES, npmTool, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from './scoped-builds.ts';

const FILES = {
  'rush.json': {
    rushVersion: '5.179.0',
    pnpmVersion: '10.12.1',
    nodeSupportedVersionRange: '>=20',
    suppressNodeLtsWarning: true,
    telemetryEnabled: false,
    projects: [{ packageName: 'pkg', projectFolder: 'pkg' }],
  },
  'pkg/package.json': {
    name: 'pkg',
    version: '1.0.0',
    scripts: { build: `mkdir -p out && tr a-z A-Z < words.txt > out/shouted.txt && ${MAKE} && echo built` },
  },
  'pkg/config/rush-project.json': {
    operationSettings: [{ operationName: 'build', outputFolderNames: ['out'] }],
  },
};

test('Rush restores a project’s outputs from the server', { timeout: 2 * MINUTES }, async () => {
  const shop = await withProject();
  const { cold, warm } = await coldAndWarm(shop, await servedFrom(shop));
  expect(cold.said).not.toContain('restored from the build cache');
  expect(warm.said).toContain('"pkg" was restored from the build cache.');
  expect([cold.output, warm.output]).toEqual(['SOME WORDS\n', 'SOME WORDS\n']);
});

test('Rush gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
  const { warm } = await coldAndWarm(await withProject(), await forgetfulServer());
  expect(warm.said).not.toContain('restored from the build cache');
  expect(warm.output).toBe('SOME WORDS\n');
});

/** docs/PROTOCOLS.md warns of this. */
test('Rush fails if the server is down', { timeout: 2 * MINUTES }, async () => {
  const nowhere = 'http://127.0.0.1:1';
  await expect(coldAndWarm(await withProject(), nowhere)).rejects.toThrow('ECONNREFUSED');
});

// Rush waits between its attempts, so this takes half a minute: only in the soak.
if (soak(20) > 1)
  test('Rush with tokens of main, of a pull request and of a reader', { timeout: 6 * MINUTES }, async () => {
    const shop = await withProject();
    await checkScopedBuilds(shop, {
      build(words, url, { token }) {
        shop.write('pkg/words.txt', words);
        configure(shop, url);
        return build(shop, token);
      },
      hit: /restored from the build cache/,
      denied: undefined,
      revoked: /Credentials may be misconfigured/,
      isSlow: true,
    });
  });

async function withProject(): Promise<Workshop> {
  const shop = workshop();
  for (const [path, value] of Object.entries(FILES)) shop.write(path, JSON.stringify(value));
  shop.write('pkg/words.txt', 'some words\n');
  shop.write('.gitignore', 'temp\n.rush\nout\nrush-logs\n');
  await commitAll(shop);
  return shop;
}

interface Built extends ScopedBuild {
  readonly output: string;
}

async function coldAndWarm(shop: Workshop, url: string): Promise<{ cold: Built; warm: Built }> {
  configure(shop, url);
  return { cold: await build(shop), warm: await build(shop) };
}

function configure(shop: Workshop, url: string): void {
  const httpConfiguration = { url: `${url}/rush/team/`, isCacheWriteAllowed: true };
  const cache = { buildCacheEnabled: true, cacheProvider: 'http', httpConfiguration };
  shop.write('common/config/rush/build-cache.json', JSON.stringify(cache));
}

/** Rush sends the credential as it is. The server also accepts a token without `Bearer`. */
async function build(shop: Workshop, credential = `Bearer ${TOKEN}`): Promise<Built> {
  const local = ['common/temp', 'pkg/.rush', 'pkg/out'];
  for (const path of local) rmSync(join(shop.workspace, path), { recursive: true, force: true });
  shop.write('common/temp/last-link.flag', '{}');
  shop.write('pkg/.rush/temp/shrinkwrap-deps.json', '{}');
  const said = await run([npmTool('rush'), 'build'], {
    cwd: shop.workspace,
    home: shop.folder,
    env: { RUSH_GLOBAL_FOLDER: join(shop.folder, 'rush'), RUSH_BUILD_CACHE_CREDENTIAL: credential },
  });
  const read = (name: string) => readFileSync(join(shop.workspace, 'pkg/out', name), 'utf8');
  return { said, output: read('shouted.txt'), made: read('made') };
}
