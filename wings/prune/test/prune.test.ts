// The real npm and pnpm install what `assay prune` left of a workspace, with the versions of the whole one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MINUTES, npmTool, run, workshop } from '../../../test/clients/rig.ts';
import type { Workshop } from '../../../test/rig/assay.ts';
import { registry, writeWorkspace } from './rig.ts';

const MANAGERS = {
  npm: {
    tool: () => ['npm'],
    lock: ['install', '--package-lock-only'],
    install: ['ci'],
    lockFile: 'package-lock.json',
    extra: [],
  },
  pnpm: {
    tool: () => [npmTool('pnpm')],
    lock: ['install', '--lockfile-only'],
    install: ['install', '--frozen-lockfile'],
    lockFile: 'pnpm-lock.yaml',
    extra: ['pnpm-workspace.yaml'],
  },
} as const;

const versionAt = (path: string): string =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;

test.each(['npm', 'pnpm'] as const)(
  '%s installs the part of a package',
  { timeout: 2 * MINUTES },
  async (name) => {
    const { tool, lock, install, lockFile, extra } = MANAGERS[name];
    const shop = workshop();
    const env = { npm_config_registry: await registry(shop), npm_config_update_notifier: 'false' };
    const manager = (args: readonly string[], cwd: string) =>
      run([...tool(), ...args], { cwd, home: shop.folder, env });
    writeWorkspace(shop, name);
    await manager(lock, shop.workspace);

    const ran = await shop.assay(['prune', 'web', '--docker', '--json']);
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toMatchObject({
      lockFile,
      packages: [
        { name: 'web', folder: 'apps/web' },
        { name: '@acme/core', folder: 'libs/core' },
        { name: '@acme/ui', folder: 'libs/ui' },
      ],
      locked: { kept: 3, all: 5 },
      skipped: [],
    });
    const manifests = ['apps/web', 'libs/core', 'libs/ui'].map((folder) => `${folder}/package.json`);
    const ofInstall = [...manifests, 'package.json', lockFile, ...extra].sort();
    expect(filesIn(shop, 'out/json')).toEqual(ofInstall);
    const sources = ['apps/web', 'libs/core', 'libs/ui'].map((folder) => `${folder}/src/index.js`);
    expect(filesIn(shop, 'out/full')).toEqual(
      [...ofInstall, ...sources, '.gitignore', 'tsconfig.base.json'].sort(),
    );

    const installed = join(shop.workspace, 'out/json');
    await manager(install, installed);
    const text = readFileSync(join(installed, lockFile), 'utf8');
    expect(text).toBe(readFileSync(join(shop.workspace, 'out/full', lockFile), 'utf8'));
    const left = join(installed, name === 'npm' ? 'node_modules/left' : 'apps/web/node_modules/left');
    expect(versionAt(left)).toBe('1.0.0');
    expect(versionAt(join(installed, 'node_modules/deep'))).toBe('2.0.0');
    expect(existsSync(join(installed, 'node_modules/right'))).toBe(false);
    const core = name === 'npm' ? 'node_modules/@acme/core' : 'libs/ui/node_modules/@acme/core';
    expect(versionAt(join(installed, core))).toBe('1.0.0');
  },
);

function filesIn({ workspace }: Workshop, folder: string): string[] {
  return readdirSync(join(workspace, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(workspace, folder).length + 1))
    .sort();
}
