// What `assay prune` refuses, what it never writes over, and which paths it never leaves.
import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const at = (path: string) => join(shop.workspace, path);
const prune = (...args: readonly string[]) => shop.assay(['prune', ...args]);

async function refused(...args: readonly string[]): Promise<string> {
  const { code, stderr } = await prune(...args);
  expect(code).toBe(2);
  expect(existsSync(at('out'))).toBe(false);
  return stderr;
}

function writeNpm(packages: object = {}, workspaces: readonly string[] = ['a', 'b']): void {
  shop.write('package.json', JSON.stringify({ private: true, workspaces }));
  shop.write('a/package.json', '{ "name": "a" }');
  shop.write('b/package.json', '{ "name": "b" }');
  const own = { '': { workspaces }, a: {}, b: {}, 'node_modules/a': { resolved: 'a', link: true } };
  shop.write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages: { ...own, ...packages } }));
}

describe('lock files', () => {
  test.each(['yarn.lock', 'bun.lock', 'bun.lockb', 'deno.lock'])('%s', async (name) => {
    shop.write('package.json', '{}');
    shop.write(name, '');
    expect(await refused('a')).toContain(`the lock files of npm and pnpm, and not ${name}`);
  });

  test('two of them', async () => {
    writeNpm();
    shop.write('pnpm-lock.yaml', '');
    expect(await refused('a')).toContain('several lock files: pnpm-lock.yaml, package-lock.json');
  });

  test.each<[string, string]>([
    ['no json', 'no JSON object'],
    ['[]', 'no JSON object'],
    ['['.repeat(100_000), 'no JSON object'],
    ['{"lockfileVersion":1,"dependencies":{}}', 'it has no "packages"'],
    ['{"packages":{"":{}}}', 'it lacks the package a'],
    ['{"packages":{"":{},"a":{"dependencies":{"x":"1"}}}}', 'it lacks x, which a needs'],
    ['{"packages":{"":{},"a":{"dependencies":{"__proto__":"1","toString":"1"}}}}', 'it lacks __proto__'],
    [
      '{"packages":{"":{},"a":{"dependencies":{"x":"1"}},"node_modules/x":{"link":true,"resolved":"../x"}}}',
      'no package of this workspace',
    ],
    [
      '{"packages":{"":{},"a":{"dependencies":{"x":"1"}},"node_modules/x":{"resolved":"file:../../x.tgz"}}}',
      'ASSAY_BAD_PATH',
    ],
    [
      '{"packages":{"":{},"a":{"dependencies":{"x":"1"}},"node_modules/x":{"resolved":"file:gone.tgz"}}}',
      'the lock file names gone.tgz',
    ],
  ])('package-lock.json: %.60s', async (text, words) => {
    writeNpm();
    shop.write('package-lock.json', text);
    expect(await refused('a')).toContain(words);
  });

  test.each<[string, string]>([
    ['lockfileVersion: 6.0', 'its version is 6'],
    ['- a', 'its version is none'],
    ["lockfileVersion: '9.0'\nimporters: {.: {}}", 'it lacks the package a'],
    ["lockfileVersion: '9.0'\nimporters: &x {.: {}, a: *x}", 'pnpm-lock.yaml: '],
    ['[[[{', 'pnpm-lock.yaml: '],
    [
      "lockfileVersion: '9.0'\nimporters: {.: {}, a: {dependencies: {x: {version: 1.0.0}}}}",
      'it lacks x@1.0.0',
    ],
    [
      "lockfileVersion: '9.0'\nimporters: {.: {}, a: {dependencies: {x: {version: 'link:../../x'}}}}",
      'ASSAY_BAD_PATH',
    ],
    [
      "lockfileVersion: '9.0'\nimporters: {.: {}, a: {dependencies: {x: {version: 'link:../x'}}}}",
      'no package of this workspace',
    ],
    [
      "lockfileVersion: '9.0'\nimporters: {.: {}, a: {dependencies: {x: {version: 'file:../x'}}}}",
      'cannot be taken along',
    ],
    [
      "lockfileVersion: '9.0'\nimporters: {.: {}, a: {}}\npatchedDependencies: {x: {hash: h, path: ../../x}}",
      'ASSAY_BAD_PATH',
    ],
  ])('pnpm-lock.yaml: %.80s', async (text, words) => {
    shop.write('pnpm-workspace.yaml', 'packages: [a]');
    shop.write('a/package.json', '{ "name": "a" }');
    shop.write('pnpm-lock.yaml', text);
    expect(await refused('a')).toContain(words);
  });
});

test('a package that is not there, and none at all', async () => {
  writeNpm();
  expect(await refused('aa')).toContain('there is no package "aa" in this workspace; did you mean a?');
  expect(await refused()).toContain('name a package');
  expect(await refused('../a')).toContain('there is no package');
});

test('two packages of one name are told by their folders, and a folder with glob characters is no package', async () => {
  writeNpm();
  mkdirSync(at('c (d)'));
  shop.write('package.json', JSON.stringify({ private: true, workspaces: ['**'] }));
  shop.write('b/package.json', '{ "name": "a" }');
  expect(await refused('a')).toContain('several packages are called a: name one of a, b');
  expect((await prune('b')).stdout).toContain('a (b)');
});

test('packages that need each other, and a name of a prototype', async () => {
  writeNpm(
    {
      a: { dependencies: { b: '*', constructor: '1' } },
      b: { devDependencies: { a: '*' }, peerDependencies: { absent: '*' } },
      'node_modules/b': { resolved: 'b', link: true },
      'node_modules/constructor': { version: '1.0.0', dependencies: { __proto__: '1' } },
      'node_modules/other': { version: '1.0.0' },
    },
    ['a', 'b'],
  );
  const { stdout, stderr } = await prune('a');
  expect(stderr).toBe('');
  expect(stdout).toContain('2 of 2 packages, 1 of 2 entries');
  const lock = JSON.parse(readFileSync(at('out/package-lock.json'), 'utf8'));
  expect(Object.keys(lock.packages)).not.toContain('node_modules/other');
});

describe('the folder', () => {
  test('is replaced if prune made it, and not if it has something else', async () => {
    writeNpm();
    expect((await prune('a')).code).toBe(0);
    shop.write('a/new', '');
    expect((await prune('a')).code).toBe(0);
    expect(existsSync(at('out/a/new'))).toBe(true);
    expect(existsSync(at('out/a/out'))).toBe(false);
    shop.write('package.json', JSON.stringify({ private: true, workspaces: ['**'] }));
    expect((await prune('a')).stdout).toContain('1 of 2 packages');
    shop.write('own/file', 'mine');
    const { code, stderr } = await prune('a', '--out', 'own');
    expect([code, readFileSync(at('own/file'), 'utf8')]).toEqual([2, 'mine']);
    expect(stderr).toContain('is not empty, and no assay prune made it');
    for (const out of ['.', 'a', '..', 'package.json']) {
      expect((await prune('a', '--out', out)).code, out).toBe(2);
      expect(existsSync(at('a/package.json'))).toBe(true);
    }
  });

  test('may lie in a package, and what a killed run left is removed', async () => {
    writeNpm();
    mkdirSync(at('a/.out.prune-999999999'), { recursive: true });
    expect((await prune('a', '--out', 'a/out')).code).toBe(0);
    expect((await prune('a', '--out', 'a/out')).code).toBe(0);
    expect(existsSync(at('a/out/a/out'))).toBe(false);
    expect(existsSync(at('a/.out.prune-999999999'))).toBe(false);
  });

  test('a config that names packages which are left out is told', async () => {
    writeNpm();
    shop.write('assay.json', '{ "packages": ["a", "b"] }');
    const { code, stderr } = await prune('a');
    expect(code).toBe(0);
    expect(stderr).toContain('`assay run` will not work in');
  });
});

describe('links', () => {
  test('stay links inside the workspace, and are left out if they lead out of it', async () => {
    writeNpm();
    symlinkSync('../b', at('a/inside'));
    symlinkSync('../../outside', at('a/outside'));
    symlinkSync('/etc/passwd', at('a/absolute'));
    symlinkSync('inside/../../../x', at('a/through'));
    symlinkSync('loop', at('a/loop'));
    const { code, stdout } = await prune('a');
    expect(code).toBe(0);
    expect(readlinkSync(at('out/a/inside'))).toBe('../b');
    for (const name of ['outside', 'absolute', 'through', 'loop']) {
      expect(existsSync(at(`out/a/${name}`)), name).toBe(false);
      expect(stdout).toContain(`left out: a/${name}`);
    }
  });

  test('a package behind a link is refused', async () => {
    writeNpm({ 'linked/c': {} }, ['a', 'linked/c']);
    mkdirSync(join(shop.folder, 'outside/c'), { recursive: true });
    symlinkSync(join(shop.folder, 'outside'), at('linked'));
    writeFileSync(join(shop.folder, 'outside/c/package.json'), '{ "name": "c" }');
    expect(await refused('linked/c')).toContain('reached by a link: linked');
  });
});
