// Turborepo with only its remote cache, with signed artifacts, and with a preflight before each request.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { ask, testServer } from '../server/rig.ts';
import { forgetfulServer, MINUTES, npmTool, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from './scoped-builds.ts';

const FILES = {
  'package.json': { name: 'root', private: true, packageManager: 'npm@10.0.0', workspaces: ['pkg'] },
  'package-lock.json': {
    name: 'root',
    lockfileVersion: 3,
    packages: {
      '': { name: 'root', workspaces: ['pkg'] },
      'node_modules/pkg': { resolved: 'pkg', link: true },
      pkg: { version: '1.0.0' },
    },
  },
  'turbo.json': { tasks: { build: { outputs: ['out/**'] } }, remoteCache: { signature: true } },
  'pkg/package.json': {
    name: 'pkg',
    version: '1.0.0',
    scripts: { build: `mkdir -p out && tr a-z A-Z < words.txt > out/shouted.txt && ${MAKE} && echo built` },
  },
};

test('Turborepo restores a task’s outputs and log from the server', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const { cold, warm } = await coldAndWarm(shop, await servedFrom(shop));
  expect(cold.said).toMatch(/cache miss, executing/);
  expect(warm.said).toMatch(/cache hit, replaying logs/);
  expect(warm.said).toMatch(/Cached: +1 cached, 1 total/);
  expect([cold.output, warm.output]).toEqual(['SOME WORDS\n', 'SOME WORDS\n']);
});

test('Turborepo’s dry run shows the hits of the server', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const url = await servedFrom(shop);
  await build(shop, url);
  const plan = await turbo(shop, url, ['run', 'build', '--dry=json']);
  expect(plan).toMatch(/"status": "HIT",\s+"source": "REMOTE"/);
});

test('Turborepo gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
  const { warm } = await coldAndWarm(withPackage(), await forgetfulServer());
  expect(warm.said).toMatch(/cache miss, executing/);
  expect(warm.said).toMatch(/Cached: +0 cached, 1 total/);
  expect(warm.output).toBe('SOME WORDS\n');
});

/** docs/PROTOCOLS.md warns of this: it also holds for a server without a token. */
test('Turborepo without a token sends no request', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const server = await testServer();
  const builds = [await build(shop, server.url, ''), await build(shop, server.url, '')];
  for (const { said } of builds) expect(said).toMatch(/Cached: +0 cached, 1 total/);
  expect((await ask(`${server.url}/metrics`)).body.toString()).not.toContain('route="turbo"');
  const withAny = [await build(shop, server.url, 'any'), await build(shop, server.url, 'any')];
  expect(withAny[1]?.said).toMatch(/Cached: +1 cached, 1 total/);
});

test('Turborepo with tokens of main, of a pull request and of a reader', {
  timeout: 4 * MINUTES,
}, async () => {
  const shop = withPackage();
  await checkScopedBuilds(shop, {
    build(words, url, { token }) {
      shop.write('pkg/words.txt', words);
      return build(shop, url, token);
    },
    hit: /cache hit, replaying logs/,
    denied:
      /WARNING +failed to contact remote cache: Unknown status ASSAY_FORBIDDEN: this needs the right results:write/,
    revoked: undefined,
  });
});

function withPackage(): Workshop {
  const shop = workshop();
  for (const [path, value] of Object.entries(FILES)) shop.write(path, JSON.stringify(value));
  shop.write('.gitignore', 'out\n.turbo\nnode_modules\n');
  shop.write('pkg/words.txt', 'some words\n');
  return shop;
}

interface Built extends ScopedBuild {
  readonly output: string;
}

async function coldAndWarm(shop: Workshop, url: string): Promise<{ cold: Built; warm: Built }> {
  return { cold: await build(shop, url), warm: await build(shop, url) };
}

async function build(shop: Workshop, url: string, token = TOKEN): Promise<Built> {
  const local = ['.turbo', 'node_modules', 'pkg/.turbo', 'pkg/out'];
  for (const path of local) rmSync(join(shop.workspace, path), { recursive: true, force: true });
  const said = await turbo(shop, url, ['run', 'build'], token);
  const read = (name: string) => readFileSync(join(shop.workspace, 'pkg/out', name), 'utf8');
  return { said, output: read('shouted.txt'), made: read('made') };
}

function turbo(
  { folder, workspace }: Workshop,
  url: string,
  args: readonly string[],
  token = TOKEN,
): Promise<string> {
  return run([npmTool('turbo'), ...args, '--cache=remote:rw'], {
    cwd: workspace,
    home: folder,
    env: {
      CI: '1',
      TURBO_TELEMETRY_DISABLED: '1',
      TURBO_NO_UPDATE_NOTIFIER: '1',
      TURBO_API: url,
      TURBO_TOKEN: token,
      TURBO_TEAM: 'team',
      TURBO_PREFLIGHT: 'true',
      TURBO_REMOTE_CACHE_SIGNATURE_KEY: 'a key of thirty-two bytes or more',
    },
  });
}
