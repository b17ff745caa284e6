// wireit stores outputs in GitHub Actions' cache and requires TLS. A script whose outputs and local cache are
// deleted is restored, not run again.
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadTlsIdentity } from '../../server/connection/tls.ts';
import { DEFAULT_FORM, type Workshop } from '../rig/assay.ts';
import { certify, forgetfulServer, MINUTES, run, servedFrom, TOKEN, TOOLS, workshop } from './rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from './scoped-builds.ts';

const PACKAGE = {
  name: 'pkg',
  private: true,
  scripts: { build: 'wireit' },
  wireit: {
    build: {
      command: `mkdir -p out && tr a-z A-Z < words.txt > out/shouted.txt && ${MAKE}`,
      files: ['words.txt'],
      output: ['out/**'],
    },
  },
};

test('wireit restores a script’s outputs from the server', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const { certificate, key } = await certify(shop);
  const url = await servedFrom(shop, DEFAULT_FORM, ['--tls-cert', certificate, '--tls-key', key]);
  const [cold, warm] = [await build(shop, url, certificate), await build(shop, url, certificate)];
  expect(cold.said).toMatch(/Ran 1 script and skipped 0/);
  expect(warm.said).toMatch(/Ran 0 scripts and skipped 1/);
  expect([cold.output, warm.output]).toEqual(['SOME WORDS\n', 'SOME WORDS\n']);
});

test('wireit builds successfully with a read-only server', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const { certificate, key } = await certify(shop);
  const url = await servedFrom(shop, 'source', ['--read-only', '--tls-cert', certificate, '--tls-key', key]);
  expect((await build(shop, url, certificate)).output).toBe('SOME WORDS\n');
});

test('wireit gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
  const shop = withPackage();
  const { certificate, key } = await certify(shop);
  const url = await forgetfulServer(loadTlsIdentity({ cert: certificate, key }));
  await build(shop, url, certificate);
  expect((await build(shop, url, certificate)).said).toMatch(/Ran 1 script and skipped 0/);
});

test('wireit with tokens of main, of a pull request and of a reader', { timeout: 4 * MINUTES }, async () => {
  const shop = withPackage();
  const { certificate, key } = await certify(shop);
  await checkScopedBuilds(shop, {
    build(words, url, { token }) {
      shop.write('words.txt', words);
      return build(shop, url, certificate, token);
    },
    hit: /Ran 0 scripts and skipped 1/,
    denied: undefined,
    revoked: undefined,
    serverArgs: ['--tls-cert', certificate, '--tls-key', key],
    ca: readFileSync(certificate, 'utf8'),
  });
});

function withPackage(): Workshop {
  const shop = workshop();
  shop.write('package.json', JSON.stringify(PACKAGE));
  shop.write('words.txt', 'some words\n');
  symlinkSync(TOOLS, join(shop.workspace, 'node_modules'));
  return shop;
}

async function build(
  { folder, workspace }: Workshop,
  url: string,
  certificate: string,
  token = TOKEN,
): Promise<ScopedBuild & { output: string }> {
  for (const old of ['.wireit', 'out']) rmSync(join(workspace, old), { recursive: true, force: true });
  const said = await run(['npm', 'run', 'build'], {
    cwd: workspace,
    home: folder,
    env: {
      CI: 'true',
      WIREIT_CACHE: 'github',
      NODE_EXTRA_CA_CERTS: certificate,
      ACTIONS_RESULTS_URL: `${url}/`,
      ACTIONS_CACHE_SERVICE_V2: 'true',
      ACTIONS_RUNTIME_TOKEN: token,
      RUNNER_TEMP: folder,
      npm_config_update_notifier: 'false',
    },
  });
  const read = (name: string) => readFileSync(join(workspace, 'out', name), 'utf8');
  return { said, output: read('shouted.txt'), made: read('made') };
}
