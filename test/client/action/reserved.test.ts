// Reserved paths are never set aside for a command.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isReservedName } from '../../../client/action/reserved.ts';
import { digestOf, parseHash, toWire } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { parseRelPath } from '../../../core/path.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { encodeTree } from '../../../core/tree.ts';
import { openDiskStore } from '../../../store/open.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a', ...args], {
    cwd: shop.workspace,
    encoding: 'utf8',
  });
const content = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');

beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a.c', 'int main;\n');
  shop.write('made/old', 'by an earlier run\n');
  git('init', '-q');
  git('add', 'src');
  git('commit', '-qm', 'all');
});
afterEach(() => shop.remove());

describe.each([
  '.git',
  'sub/.git',
  'sub/.GIT',
  'git~1',
  '.git/hooks',
  '.assay',
  'assay.json',
  'packages/a/assay.json',
])('the output %s', (output) => {
  test('of a command is refused, and nothing is changed', async () => {
    const { code, stderr } = await shop.assay(['run', '--output', output, '--', 'true']);
    expect(code).toBe(125);
    expect(stderr).toContain('ASSAY_OUTPUT_RESERVED');
    expect(git('log', '--format=%s')).toBe('all\n');
  });

  test.each(['outputs', 'state'])('among a step’s %s is refused with its location', async (field) => {
    shop.write(
      'assay.json',
      `{\n  "steps": { "a": { "command": "true",\n    "${field}": ["${output}"] } }\n}`,
    );
    const { code, stderr } = await shop.assay(['run', 'a']);
    expect(code).toBe(125);
    expect(stderr).toContain(`assay.json:3:${field.length + 10}`);
    expect(git('log', '--format=%s')).toBe('all\n');
  });
});

test('a glob is refused as an output of a command, as for a step', async () => {
  const { code, stderr } = await shop.assay(['run', '--output', '*.txt', '--', 'true']);
  expect(code).toBe(125);
  expect(stderr).toContain('*.txt is a glob');
});

test('a successful command that makes no output leaves no earlier output, but every file that git tracks', async () => {
  const { summary } = await shop.run(['--output', 'made', '--output', 'src', '--', 'true']);
  expect(summary).toMatchObject({ exitCode: 0, published: false });
  expect(summary.notPublished).toContain('its declared output');
  expect(content('src/a.c')).toBe('int main;\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(shop.has('made')).toBe(false);
});

test('a tracked source that was put back is not published as the command’s output', async () => {
  const make = () => shop.run(['--output', 'src', '--', 'true']);
  expect((await make()).summary).toMatchObject({ published: false });
  shop.write('src/a.c', 'my edit\n');
  expect((await make()).summary).toMatchObject({ outcome: 'miss', published: false });
  expect(content('src/a.c')).toBe('my edit\n');
});

test('if git cannot tell whether a file is tracked, the file is kept', async () => {
  const path = shop.another('empty');
  const ran = await shop.assay(['run', '--output', 'src', '--', '/bin/true'], { env: { PATH: path } });
  expect(ran.code).toBe(0);
  expect(content('src/a.c')).toBe('int main;\n');
  await shop.assay(['run', '--output', 'src', '--', 'true'], { env: { GIT_DIR: '/nonexistent' } });
  expect(content('src/a.c')).toBe('int main;\n');
});

const ORDINARY = [
  '.gitignore',
  '.github',
  'git',
  'git~2',
  'x.git',
  '.git-x',
  'assay',
  'assay.json',
  '.ｇit',
  '%bytes:2e67ff',
];
const GITS = [
  '.git',
  '.GIT',
  '.gIt',
  'git~1',
  'GIT~1',
  '.git.',
  '.git ',
  '.git. . ',
  '.git::$INDEX_ALLOCATION',
  '.assay',
];
const HFS = [
  '.g\u200cit',
  '\u200e.git',
  '.gi\u206ft',
  '.git\ufeff',
  '.a\u200dssay',
  '.aſſay',
  'x\\.git',
  'assay~1',
];

test('every name that some file system treats as .git or .assay is reserved', () => {
  expect([...GITS, ...HFS].filter((name) => !isReservedName(name))).toEqual([]);
  expect(ORDINARY.filter(isReservedName)).toEqual([]);
});

test('a result that would be restored into a .git folder is not a hit', async () => {
  const make = () =>
    shop.run([
      '--hermetic=off',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      'mkdir -p out/sub && echo x > out/sub/own',
    ]);
  const { summary } = await make();
  const key = parseHash(summary.key);
  const store = await openDiskStore({ directory: shop.store });
  const keep = async (bytes: Uint8Array) => {
    await store.blobs.put(digestOf(bytes), bytes);
    return toWire(digestOf(bytes));
  };
  const evil = Buffer.from('evil');
  await keep(evil);
  const path = parseRelPath('sub/.git/post-checkout');
  const treeDigest = await keep(
    encodeTree([{ kind: 'file', path, digest: digestOf(evil), executable: true }]),
  );
  const outputDirectories = [{ path: 'out', treeDigest, isTopologicallySorted: false }];
  const planted = ActionResult.encode({ ...emptyResult(0), outputDirectories }).finish();
  await store.results.put({ namespace: DEFAULT_NAMESPACE, key }, planted, { replace: true });
  await store.close();
  rmSync(join(shop.workspace, 'out'), { recursive: true });
  const again = await make();
  expect(again.summary).toMatchObject({ outcome: 'miss' });
  expect(again.stderr).toContain('not for a cache');
  expect(shop.has('out/sub/.git')).toBe(false);
});

test('a command whose output contains a repository runs, and its result is not published', async () => {
  const script = 'mkdir -p out/sub && git init -q out/sub';
  const { code, summary } = await shop.run([
    ...['--hermetic=off', '--output', 'out', '--', 'sh', '-c', script],
  ]);
  expect(code).toBe(0);
  expect(summary).toMatchObject({ published: false });
  expect(summary.notPublished).toContain('out/sub/.git is not for a cache to keep');
});
