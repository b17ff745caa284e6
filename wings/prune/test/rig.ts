// A workspace of four packages, and a registry on loopback with the packages that they depend on.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Workshop } from '../../../test/rig/assay.ts';

/** What the registry has: names, versions and dependencies. */
const PUBLISHED = [
  { name: 'left', version: '1.0.0', dependencies: { deep: '^2.0.0' } },
  { name: 'right', version: '1.0.0', dependencies: { deep: '^1.0.0' } },
  { name: 'deep', version: '1.0.0', dependencies: {} },
  { name: 'deep', version: '2.0.0', dependencies: {} },
  { name: '@acme-tools/lint', version: '3.0.0', dependencies: {} },
];

/** web -> ui -> core, admin -> core. Only admin needs right and deep 1. */
const PACKAGES: Readonly<Record<string, object>> = {
  'apps/web': { name: 'web', dependencies: { '@acme/ui': '*', left: '1.0.0' } },
  'apps/admin': { name: 'admin', dependencies: { '@acme/core': '*', right: '1.0.0' } },
  'libs/ui': { name: '@acme/ui', dependencies: { '@acme/core': '*' } },
  'libs/core': { name: '@acme/core', devDependencies: { '@acme-tools/lint': '3.0.0' } },
};

export function writeWorkspace(shop: Workshop, manager: 'npm' | 'pnpm'): void {
  const root = { name: 'root', private: true, devDependencies: { deep: '2.0.0' } };
  const isNpm = manager === 'npm';
  const workspaces = ['apps/web', 'apps/admin', 'libs/*'];
  shop.write('package.json', JSON.stringify(isNpm ? { ...root, workspaces } : root));
  if (!isNpm)
    shop.write('pnpm-workspace.yaml', `packages:\n${workspaces.map((one) => `  - ${one}\n`).join('')}`);
  shop.write('tsconfig.base.json', '{}');
  shop.write('.gitignore', 'node_modules\n*.secret\n');
  for (const [folder, manifest] of Object.entries(PACKAGES)) {
    const text = JSON.stringify({ version: '1.0.0', ...manifest });
    shop.write(`${folder}/package.json`, isNpm ? text : text.replaceAll('"*"', '"workspace:*"'));
    shop.write(`${folder}/src/index.js`, `// ${folder}\n`);
    shop.write(`${folder}/my.secret`, 'secret');
  }
}

/** Its URL. Stopped when the test is finished. */
export async function registry({ folder }: Workshop): Promise<string> {
  const tarballs = new Map(PUBLISHED.map((one) => [`${one.name}@${one.version}`, pack(folder, one)]));
  const server = createServer(({ url = '' }, response) => {
    const path = decodeURIComponent(url);
    const tarball = tarballs.get(path.replace(/^\/tar\//, ''));
    const versions = PUBLISHED.filter(({ name }) => `/${name}` === path);
    if (!tarball) response.writeHead(versions.length > 0 ? 200 : 404, { 'content-type': 'application/json' });
    response.end(tarball ?? JSON.stringify(packument(versions, tarballs, base())));
  });
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return base();
}

type Published = (typeof PUBLISHED)[number];

function packument(
  versions: readonly Published[],
  tarballs: ReadonlyMap<string, Buffer>,
  base: string,
): object {
  const described = versions.map((one) => {
    const id = `${one.name}@${one.version}`;
    const hash = createHash('sha512')
      .update(tarballs.get(id) ?? '')
      .digest('base64');
    return [one.version, { ...one, dist: { tarball: `${base}/tar/${id}`, integrity: `sha512-${hash}` } }];
  });
  const [newest] = versions.toReversed();
  return {
    name: newest?.name,
    'dist-tags': { latest: newest?.version },
    time: Object.fromEntries(versions.map(({ version }) => [version, '2020-01-01T00:00:00.000Z'])),
    versions: Object.fromEntries(described),
  };
}

function pack(folder: string, manifest: Published): Buffer {
  const at = join(folder, 'published', manifest.name.replace('/', '+'), manifest.version);
  mkdirSync(join(at, 'package'), { recursive: true });
  writeFileSync(join(at, 'package/package.json'), JSON.stringify(manifest));
  execFileSync('tar', ['--create', '--gzip', '--file', 'packed.tgz', 'package'], { cwd: at });
  return readFileSync(join(at, 'packed.tgz'));
}
