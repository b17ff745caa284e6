// `assay save` and `assay restore`: what is restored, from which snapshot, and what is refused.
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, toWire } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { parseRelPath } from '../../../core/path.ts';
import { ActionResult, type Directory, Tree } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { encodeTree } from '../../../core/tree.ts';
import { openDiskStore } from '../../../store/open.ts';
import { RUNTIME_FORMS, type RunOptions, Workshop } from '../../../test/rig/assay.ts';
import { ReapiServer } from '../../../test/rig/reapi-server.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { rot } from '../../../test/rig/stores/rot.ts';
import { describeTree } from '../../../test/rig/tree.ts';

let shop: Workshop;
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  shop = new Workshop();
  fill('first');
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

function fill(word: string): void {
  shop.write('modules/a/index.js', `${word}\n`);
  shop.write('modules/b/tool', '#!/bin/sh\n', 0o755);
  shop.write('modules/large', 'x'.repeat(200_000));
  shop.write('single.txt', word);
}

const forget = () => {
  for (const path of ['modules', 'single.txt'])
    rmSync(join(shop.workspace, path), { recursive: true, force: true });
};
const there = () => describeTree(shop.workspace);
const word = () => readFileSync(join(shop.workspace, 'single.txt'), 'utf8');

async function save(key: string, args: readonly string[] = [], options: RunOptions = {}) {
  const ran = await shop.assay(['save', '--json', key, 'modules', 'single.txt', ...args], options);
  expect(ran.code, ran.stderr).toBe(0);
  return JSON.parse(ran.stdout);
}

const PATHS: readonly string[] = ['modules', 'single.txt'];

async function restore(
  key: string,
  args: readonly string[] = [],
  options: RunOptions & { paths?: readonly string[] } = {},
) {
  const { paths = PATHS } = options;
  const ran = await shop.assay(['restore', '--json', '--exit-code', key, ...paths, ...args], options);
  return { ...JSON.parse(ran.stdout), code: ran.code, stderr: ran.stderr };
}

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('saved files are restored exactly, and other files there are removed', async () => {
    symlinkSync('a', join(shop.workspace, 'modules/link'));
    const before = there();
    expect(await save('npm-1', [], { form })).toMatchObject({ outcome: 'saved', shared: false });
    forget();
    shop.write('modules/stray', 'stray');
    shop.write('beside', 'untouched');
    expect(await restore('npm-1', [], { form })).toMatchObject({
      outcome: 'exact',
      from: 'local',
      code: 0,
      written: 2,
    });
    rmSync(join(shop.workspace, 'beside'));
    expect(there()).toEqual(before);
    expect(await restore('npm-1', [], { form })).toMatchObject({ outcome: 'exact', written: 0 });
  });
});

test('a path inside another one is saved with it, and both are restored', async () => {
  const before = there();
  expect(await save('nested', ['modules/a'])).toMatchObject({ outcome: 'saved' });
  forget();
  expect(await restore('nested')).toMatchObject({ outcome: 'exact', code: 0 });
  expect(there()).toEqual(before);
});

test('a saved key is never overwritten', async () => {
  await save('npm-1');
  fill('second');
  expect(await save('npm-1')).toMatchObject({ outcome: 'taken' });
  expect(await restore('npm-1')).toMatchObject({ outcome: 'exact' });
  expect(word()).toBe('first');
});

test('restore takes the newest snapshot of the first prefix that matches', async () => {
  for (const key of ['npm-linux-2', 'npm-linux-1', 'npm-mac-3']) {
    fill(key);
    await save(key);
  }
  const find = (...prefixes: string[]) =>
    restore(
      'npm-9',
      prefixes.flatMap((prefix) => ['--fallback', prefix]),
    );
  expect(await find('npm-linux-')).toMatchObject({ outcome: 'fallback', found: 'npm-linux-1', code: 3 });
  expect(word()).toBe('npm-linux-1');
  expect(await find('yarn-', 'npm-')).toMatchObject({ found: 'npm-mac-3' });
  expect(await find('npm-linux-2')).toMatchObject({ found: 'npm-linux-2' });
  expect(await find('yarn-')).toEqual({ key: 'npm-9', outcome: 'nothing', code: 4, stderr: '' });
  expect((await shop.assay(['restore', 'npm-9', 'modules'])).code).toBe(0);
});

describe('restore requires its paths', () => {
  test('a key that was saved for other paths is not found, neither exactly nor by a prefix', async () => {
    const stranger = shop.another('stranger');
    shop.write('.bashrc', 'evil', 0o644, stranger);
    shop.write('.ssh/authorized_keys', 'evil', 0o644, stranger);
    shop.write('.m2/x.jar', 'evil', 0o644, stranger);
    const home = shop.another('home');
    shop.write('.bashrc', 'mine', 0o644, home);
    shop.write('.ssh/id', 'private', 0o600, home);
    const before = describeTree(home);
    const saved = ['m2-1', '--in', stranger, '.bashrc', '.ssh', '.m2'];
    expect((await shop.assay(['save', ...saved])).code).toBe(0);
    for (const key of ['m2-1', 'm2-2']) {
      const found = await restore(key, ['--fallback', 'm2-', '--in', home], { paths: ['.m2'] });
      expect(found).toMatchObject({ outcome: 'nothing', code: 4 });
    }
    expect(describeTree(home)).toEqual(before);
  });

  test('one key may be saved for different paths, and each is restored separately', async () => {
    await save('k');
    expect(await shop.assay(['save', 'k', 'single.txt'])).toMatchObject({ code: 0 });
    fill('second');
    expect(await restore('k', [], { paths: ['single.txt'] })).toMatchObject({ outcome: 'exact', written: 1 });
    expect(word()).toBe('first');
    expect(readFileSync(join(shop.workspace, 'modules/a/index.js'), 'utf8')).toBe('second\n');
  });

  test('the order and spelling of the paths do not matter', async () => {
    await save('k');
    forget();
    const paths = ['./single.txt', 'modules/', 'modules/a'];
    expect(await restore('k', [], { paths })).toMatchObject({ outcome: 'exact', written: 2 });
  });
});

test('--in sets the folder that paths are relative to', async () => {
  const home = shop.another('home');
  shop.write('.m2/repository/x.jar', 'jar', 0o644, home);
  expect((await shop.assay(['save', 'm2', '--in', home, '.m2/repository'])).code).toBe(0);
  rmSync(join(home, '.m2'), { recursive: true });
  expect(await restore('m2', ['--in', home], { paths: ['.m2/repository'] })).toMatchObject({
    outcome: 'exact',
  });
  expect(readFileSync(join(home, '.m2/repository/x.jar'), 'utf8')).toBe('jar');
});

describe('through a remote', () => {
  const elsewhere = (url: string) => ['--remote', url, '--store', join(shop.folder, 'elsewhere')];

  test.each(['http', 'grpc'])('another machine restores by key and by prefix, over %s', async (protocol) => {
    const server = await ServerProcess.start(`${shop.folder}/server`);
    closers.push(() => server.stop());
    const url = server.url.replace(/^http/, protocol);
    expect(await save('npm-1', ['--remote', url])).toMatchObject({ outcome: 'saved', shared: true });
    const before = there();
    forget();
    expect(await restore('npm-1', elsewhere(url))).toMatchObject({
      outcome: 'exact',
      from: 'remote',
      stderr: '',
    });
    expect(there()).toEqual(before);
    rmSync(join(shop.folder, 'elsewhere'), { recursive: true });
    forget();
    expect(await restore('npm-2', [...elsewhere(url), '--fallback', 'npm-'])).toMatchObject({
      outcome: 'fallback',
      found: 'npm-1',
      from: 'remote',
    });
    expect(there()).toEqual(before);
    expect(await restore('npm-2', [...elsewhere(url), '--fallback', 'npm-'])).toMatchObject({
      found: 'npm-1',
    });
  });

  test('a snapshot that failed to upload is uploaded when it is saved again', async () => {
    expect(await save('npm-1', ['--remote', 'http://127.0.0.1:9'])).toMatchObject({ shared: false });
    const server = await ServerProcess.start(`${shop.folder}/server`);
    closers.push(() => server.stop());
    const before = there();
    fill('second');
    expect(await save('npm-1', ['--remote', server.url])).toMatchObject({ outcome: 'taken', shared: true });
    forget();
    expect(await restore('npm-1', elsewhere(server.url))).toMatchObject({ outcome: 'exact', from: 'remote' });
    expect(there()).toEqual(before);
  });

  test('the newest snapshot wins, whether local or remote', async () => {
    const server = await ServerProcess.start(`${shop.folder}/server`);
    closers.push(() => server.stop());
    await save('npm-here');
    fill('there');
    await save('npm-there', elsewhere(server.url));
    expect(await restore('npm-9', ['--remote', server.url, '--fallback', 'npm-'])).toMatchObject({
      found: 'npm-there',
      from: 'remote',
    });
    fill('here again');
    await save('npm-here-again');
    expect(await restore('npm-9', ['--remote', server.url, '--fallback', 'npm-'])).toMatchObject({
      found: 'npm-here-again',
      from: 'local',
    });
  });

  test('on a server without labels, only an exact key is found', async () => {
    const server = await ReapiServer.start(shop.folder);
    closers.push(() => server.stop());
    await save('npm-1', ['--remote', server.url]);
    forget();
    expect(await restore('npm-1', elsewhere(server.url))).toMatchObject({ outcome: 'exact', from: 'remote' });
    rmSync(join(shop.folder, 'elsewhere'), { recursive: true });
    expect(await restore('npm-2', [...elsewhere(server.url), '--fallback', 'npm-'])).toMatchObject({
      code: 4,
    });
  });

  test('a remote that is down, or requires a token, costs only the hits', async () => {
    const server = await ServerProcess.start(`${shop.folder}/server`, { env: { ASSAY_TOKEN: 'sesame' } });
    closers.push(() => server.stop());
    for (const url of ['http://127.0.0.1:9', 'grpc://127.0.0.1:9', server.url]) {
      expect(await save(`npm-${url}`, ['--remote', url])).toMatchObject({ outcome: 'saved', shared: false });
      const found = await restore('npm-9', [...elsewhere(url), '--fallback', 'npm-']);
      expect(found).toMatchObject({ outcome: 'nothing', code: 4 });
      expect(found.stderr).toContain('the remote is not usable');
    }
  });
});

test.each<[string, string[], string]>([
  ['no key', ['save'], 'the key is missing'],
  ['nothing to save', ['save', 'key'], 'the paths are missing'],
  ['a missing path', ['save', 'key', 'nosuch'], 'nothing at nosuch'],
  ['a path outside', ['save', 'key', '../x'], 'ASSAY_BAD_PATH'],
  ['the folder itself', ['save', 'key', '.'], 'the whole workspace cannot be saved'],
  ['git’s own folder', ['save', 'key', '.git/hooks'], 'not for a cache'],
  ['a key that is too long', ['save', 'k'.repeat(600), 'single.txt'], 'ASSAY_BAD_LABEL'],
  ['nothing to restore', ['restore', 'key', '--fallback', 'k'], 'the paths are missing'],
  ['a restore outside', ['restore', 'key', '../x'], 'ASSAY_BAD_PATH'],
  ['a file as the folder', ['restore', 'a', 'b', '--in', 'single.txt'], 'not a folder'],
])('%s is refused with a message', async (_name, args, words) => {
  shop.write('.git/hooks/pre-commit', '');
  const ran = await shop.assay(args);
  expect(ran.stderr).toContain(words);
  expect(ran.code).toBe(2);
});

test('an unusable store costs only the hit', async () => {
  const store = ['--store', join(shop.write('a-file', ''), 'store')];
  expect(await save('npm-1', store)).toMatchObject({ outcome: 'failed' });
  expect(await restore('npm-1', store)).toMatchObject({ outcome: 'nothing' });
});

describe('a hostile snapshot writes nothing', () => {
  /** As an attacker with write access to the cache could make it. */
  async function plant(
    label: string,
    result: Partial<ActionResult>,
    blobs: readonly Uint8Array[],
  ): Promise<void> {
    const store = await openDiskStore({ directory: shop.store });
    const namespace = parseNamespace(`saved/${digestOf(Buffer.from('modules')).hash.slice(0, 32)}`);
    for (const blob of blobs) await store.blobs.put(digestOf(blob), blob);
    const key = digestOf(Buffer.from(`assay ${namespace}\0${label}`)).hash;
    const bytes = ActionResult.encode({ ...emptyResult(0), ...result }).finish();
    await store.results.put({ namespace, key }, bytes);
    await store.labels.put({ namespace, label }, key);
    await store.close();
  }

  const evil = Buffer.from('evil');
  const file = (path: string) => ({
    path,
    digest: toWire(digestOf(evil)),
    isExecutable: true,
    contents: Buffer.alloc(0),
  });
  const tree = (root: Directory) => Tree.encode({ root, children: [] }).finish();
  const folder = (path: string, bytes: Uint8Array) => ({
    path,
    treeDigest: toWire(digestOf(bytes)),
    isTopologicallySorted: false,
  });
  const climbing = tree({
    files: [{ name: '../evil', digest: toWire(digestOf(evil)), isExecutable: false }],
    directories: [],
    symlinks: [],
  });
  const linkedGit = tree({ files: [], directories: [], symlinks: [{ name: 'l', target: '../.git/hooks' }] });
  const withGit = (name: string) => {
    const path = parseRelPath(`sub/${name}/post-checkout`);
    return encodeTree([{ kind: 'file', path, digest: digestOf(evil), executable: true }]);
  };
  const leaving = tree({ files: [], directories: [], symlinks: [{ name: 'out', target: '/etc' }] });

  test.each<[string, Partial<ActionResult>, Uint8Array[]]>([
    ['outside the folder', { outputFiles: [file('../evil')] }, [evil]],
    ['at an absolute path', { outputFiles: [file('/tmp/evil')] }, [evil]],
    ['among git’s hooks', { outputFiles: [file('.git/hooks/pre-commit')] }, [evil]],
    ['from inside a folder, upwards', { outputDirectories: [folder('modules', climbing)] }, [climbing, evil]],
    ['behind a link', { outputDirectories: [folder('modules', leaving)] }, [leaving]],
    ['one output inside another', { outputFiles: [file('modules'), file('modules/b')] }, [evil]],
    ['a link out of the folder', { outputSymlinks: [{ path: 'modules', target: '../..' }] }, []],
    ['a link to git’s hooks', { outputDirectories: [folder('modules', linkedGit)] }, [linkedGit]],
    ['beside the requested paths', { outputFiles: [file('modules'), file('.bashrc')] }, [evil]],
    ['elsewhere', { outputFiles: [file('.bashrc')] }, [evil]],
    ...['.git', '.GIT', 'git~1', '.g\u200cit', '.git. .', '.assay'].map(
      (name): [string, Partial<ActionResult>, Uint8Array[]] => [
        `into ${JSON.stringify(name)} in a subfolder`,
        { outputDirectories: [folder('modules', withGit(name))] },
        [withGit(name), evil],
      ],
    ),
  ])('%s', async (_name, result, blobs) => {
    const before = describeTree(shop.folder).filter((line) => !line.startsWith('store'));
    await plant('npm-1', result, blobs);
    expect(await restore('npm-1', ['--fallback', 'npm-'], { paths: ['modules'] })).toMatchObject({
      outcome: 'nothing',
      code: 4,
    });
    expect(describeTree(shop.folder).filter((line) => !line.startsWith('store'))).toEqual(before);
  });

  test('a valid snapshot, stored the same way, is restored, which proves that these tests can fail', async () => {
    const tame = withGit('git');
    await plant('npm-1', { outputDirectories: [folder('modules', tame)] }, [tame, evil]);
    expect(await restore('npm-1', [], { paths: ['modules'] })).toMatchObject({ outcome: 'exact' });
    expect(readFileSync(join(shop.workspace, 'modules/sub/git/post-checkout'), 'utf8')).toBe('evil');
  });
});

test('a corrupt snapshot is skipped for an older one', async () => {
  await save('npm-1');
  shop.write('modules/large', 'y'.repeat(200_000));
  await save('npm-2');
  rot(shop.store, 'y'.repeat(200_000));
  forget();
  expect(await restore('npm-2', ['--fallback', 'npm-'])).toMatchObject({
    outcome: 'fallback',
    found: 'npm-1',
  });
  expect(readFileSync(join(shop.workspace, 'modules/large'), 'utf8')).toBe('x'.repeat(200_000));
});
