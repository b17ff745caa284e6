// moon over HTTP, gRPC, and gRPC with zstd: a task whose outputs and local cache are deleted is restored, and
// moon reports "from remote".

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { soak } from '../rig/soak.ts';
import {
  commitAll,
  forgetfulServer,
  MINUTES,
  npmTool,
  run,
  servedFrom,
  TOKEN,
  TOOLS,
  workshop,
} from './rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from './scoped-builds.ts';

const PROJECT = `
tasks:
  build:
    command: 'sh build.sh'
    inputs: ['words.txt', 'build.sh']
    outputs: ['out']
`;
const SCRIPT = `mkdir -p out/below && tr a-z A-Z < words.txt > out/shouted.txt && cp words.txt out/below/ && ${MAKE} && echo built\n`;

const WAYS = [
  ['HTTP', { api: 'http', compression: 'none' }],
  ['gRPC', { api: 'grpc', compression: 'none' }],
  ['gRPC with zstd', { api: 'grpc', compression: 'zstd' }],
] as const;

type Way = (typeof WAYS)[number][1];

describe.each(WAYS)('moon over %s', (_name, way) => {
  test('restores a task’s outputs and log from the server', { timeout: 3 * MINUTES }, async () => {
    const shop = await withProject();
    const { cold, warm } = await coldAndWarm(shop, await servedFrom(shop), way);
    expect(cold.said).not.toContain('cached from remote');
    expect(warm.said).toMatch(/pkg:build \(cached from remote/);
    expect(warm.said).toContain('built');
    expect(warm).toMatchObject({ outputs: cold.outputs, made: cold.made });
    expect(cold.outputs).toEqual(['SOME WORDS\n', 'some words\n']);
  });

  test('gets no hit from a server that keeps nothing', { timeout: 3 * MINUTES }, async () => {
    const { warm } = await coldAndWarm(await withProject(), await forgetfulServer(), way);
    expect(warm.said).not.toContain('cached');
    expect(warm.outputs).toEqual(['SOME WORDS\n', 'some words\n']);
  });
});

/** moon over plain gRPC and with zstd differ in the bodies alone. */
describe.each(WAYS.filter(([name]) => (soak(20) > 1 ? name !== 'gRPC' : name === 'HTTP')))(
  'moon over %s',
  (_name, way) => {
    test('with tokens of main, of a pull request and of a reader', { timeout: 4 * MINUTES }, async () => {
      const shop = await withProject();
      await checkScopedBuilds(shop, {
        build(words, url, { token }) {
          shop.write('pkg/words.txt', words);
          shop.write('.moon/workspace.yml', JSON.stringify(settings(url, way)));
          return build(shop, 'false', token);
        },
        hit: /cached from remote/,
        denied: /WARN .*Failed to store blobs, will skip caching the manifest/,
        revoked: undefined,
      });
    });
  },
);

/** docs/PROTOCOLS.md warns of this. */
test('moon in CI uses a server at 127.0.0.1, and none at localhost', { timeout: 3 * MINUTES }, async () => {
  const shop = await withProject();
  const url = await servedFrom(shop);
  const asksAt = async (address: string) => {
    const { cold, warm } = await coldAndWarm(shop, address, { api: 'http', compression: 'none' }, 'true');
    return `${cold.said}${warm.said}`.includes('cached from remote');
  };
  expect(await asksAt(url.replace('127.0.0.1', 'localhost'))).toBe(false);
  expect(await asksAt(url)).toBe(true);
});

async function withProject(): Promise<Workshop> {
  const shop = workshop();
  shop.write('pkg/moon.yml', PROJECT);
  shop.write('pkg/build.sh', SCRIPT);
  shop.write('pkg/words.txt', 'some words\n');
  await commitAll(shop);
  return shop;
}

interface Built extends ScopedBuild {
  readonly outputs: readonly string[];
}

async function coldAndWarm(
  shop: Workshop,
  url: string,
  way: Way,
  ci = 'false',
): Promise<{ cold: Built; warm: Built }> {
  shop.write('.moon/workspace.yml', JSON.stringify(settings(url, way)));
  return { cold: await build(shop, ci), warm: await build(shop, ci) };
}

/** JSON is YAML. */
function settings(url: string, { api, compression }: Way): object {
  return {
    projects: ['pkg'],
    telemetry: false,
    remote: {
      host: api === 'http' ? url : url.replace('http:', 'grpc:'),
      api,
      auth: { token: 'ASSAY_TOKEN' },
      cache: { instanceName: 'team/moon', compression, verifyIntegrity: true },
    },
  };
}

/** Kept, because moon compiles its plugins for each new user in 20 s. Its caches are in the workspace. */
const HOME = join(TOOLS, '.cache', 'moon');

async function build({ workspace }: Workshop, ci: string, token = TOKEN): Promise<Built> {
  for (const old of ['.moon/cache', 'pkg/out'])
    rmSync(join(workspace, old), { recursive: true, force: true });
  const said = await run([npmTool('moon'), 'run', 'pkg:build'], {
    cwd: workspace,
    home: HOME,
    env: {
      ASSAY_TOKEN: token,
      CI: ci,
      MOON_TOOLCHAIN_FORCE_GLOBALS: 'true',
    },
  });
  const read = (name: string) => readFileSync(join(workspace, 'pkg/out', name), 'utf8');
  return { said, outputs: [read('shouted.txt'), read('below/words.txt')], made: read('made') };
}
