// Messages from hostile testing: the server refuses them before they cost anything, and a bad result never
// replaces a good one.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leavesWorkspace } from '../../client/files/links.ts';
import { digestOf, parseHash, toWire } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { parseRelPath } from '../../core/path.ts';
import { ActionResult, Directory, Tree } from '../../core/proto/generated/reapi.ts';
import { decodeResult, referencedContent } from '../../core/result.ts';
import { filesInTree } from '../../core/tree.ts';
import { Workshop } from '../rig/assay.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';

const EMPTY_RESULT: ActionResult = {
  outputFiles: [],
  outputDirectories: [],
  outputFileSymlinks: [],
  outputDirectorySymlinks: [],
  outputSymlinks: [],
  exitCode: 0,
  stdoutRaw: Buffer.alloc(0),
  stderrRaw: Buffer.alloc(0),
};

const field = (number: number, bytes: Uint8Array) =>
  Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
const encoded = (result: Partial<ActionResult>) =>
  Buffer.from(ActionResult.encode({ ...EMPTY_RESULT, ...result }).finish());
const file = (path: string, content: string, isExecutable = false) => ({
  path,
  digest: toWire(digestOf(Buffer.from(content))),
  isExecutable,
  contents: Buffer.alloc(0),
});

describe('the decoder refuses a message', () => {
  test('when a tag of 0 in a nested message would hide the fields after it', () => {
    const named = field(2, Buffer.concat([field(1, Buffer.from('a')), Buffer.from([0, 0])]));
    expect(() => decodeResult(Buffer.concat([named, encoded({ outputFiles: [file('b', 'b')] })]))).toThrow(
      /MALFORMED/,
    );
  });

  test('when a field that may occur once occurs twice', () => {
    const digest = Buffer.from(encoded({ stdoutDigest: toWire(digestOf(Buffer.from('x'))) }));
    expect(() => decodeResult(Buffer.concat([digest, digest]))).toThrow(/MALFORMED/);
    const tree = Tree.encode({ root: { files: [], directories: [], symlinks: [] }, children: [] }).finish();
    expect(() => filesInTree(Buffer.concat([tree, tree]))).toThrow(/MALFORMED/);
  });

  test('when it holds millions of empty entries, without building them', () => {
    const bomb = Buffer.alloc(8_000_000);
    for (let at = 0; at < bomb.length; at += 2) bomb[at] = (12 << 3) | 2;
    const before = process.memoryUsage().rss;
    expect(() => decodeResult(bomb)).toThrow(/MALFORMED/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
  });

  test('when a Tree refers to a folder that it does not contain', () => {
    const missing = digestOf(Buffer.from('nowhere'));
    const root: Directory = {
      files: [],
      directories: [{ name: 'd', digest: toWire(missing) }],
      symlinks: [],
    };
    expect(() => filesInTree(Tree.encode({ root, children: [] }).finish())).toThrow(
      /does not hold its folder/,
    );
  });
});

test('a folder’s digest is that of the received bytes, including fields that Assay does not know', () => {
  const child = Buffer.concat([
    Directory.encode({ files: [], directories: [], symlinks: [] }).finish(),
    field(15, Buffer.from('new')),
  ]);
  const root: Directory = {
    files: [],
    directories: [{ name: 'd', digest: toWire(digestOf(child)) }],
    symlinks: [],
  };
  const bytes = Buffer.concat([field(1, Directory.encode(root).finish()), field(2, child)]);
  expect(filesInTree(bytes)).toEqual([]);
});

test('a Tree that a result names many times is decoded once', () => {
  const treeDigest = toWire(digestOf(Buffer.from('tree')));
  const outputDirectories = ['a', 'b', 'c'].map((path) => ({
    path,
    treeDigest,
    isTopologicallySorted: false,
  }));
  expect(referencedContent({ ...EMPTY_RESULT, outputDirectories }).trees).toHaveLength(1);
});

test('a stored success replaces a stored failure, and never the other way round', async () => {
  const { results } = openMemoryStore();
  const address = { namespace: DEFAULT_NAMESPACE, key: parseHash('a'.repeat(64)) };
  expect(await results.put(address, encoded({ exitCode: 3 }))).toBe('stored');
  expect(await results.put(address, encoded({ exitCode: 0 }))).toBe('stored');
  expect(await results.put(address, encoded({ exitCode: 3 }))).toBe('diverged');
  expect(decodeResult((await results.get(address))?.bytes ?? Buffer.alloc(0)).exitCode).toBe(0);
});

test.each([
  ['out/up2', 'up/../..', true],
  ['out/a', 'b/../c', true],
  ['out/a', '../in', false],
  ['out/a', '../../in', true],
  ['out/deep/a', '../../in', false],
  ['out/a', 'b/c', false],
])('a link at %s to %s leaves the workspace: %s', (link, target, leaves) => {
  expect(leavesWorkspace(parseRelPath(link), target)).toBe(leaves);
});

describe('a remote whose result is unusable', () => {
  let shop: Workshop;
  let server: Server;
  let asked: string[];

  beforeEach(() => {
    shop = new Workshop();
    asked = [];
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
    shop.remove();
  });

  async function serve(result: Buffer): Promise<string> {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url?.slice(0, 4)}`);
      request.resume();
      const isResult = request.method === 'GET' && request.url?.startsWith('/ac/');
      response.writeHead(isResult ? 200 : 404).end(isResult ? result : undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test.each<[string, Buffer]>([
    ['has an output that was not declared', encoded({ outputFiles: [file('out', 'x'), file('more', 'x')] })],
    ['lacks a declared output', encoded({})],
    ['is of a failed command', encoded({ exitCode: 3, outputFiles: [file('out', 'x')] })],
    [
      'has an absurdly long log',
      encoded({ outputFiles: [file('out', 'x')], stdoutDigest: { hash: 'b'.repeat(64), sizeBytes: 1e12 } }),
    ],
  ])('because it %s costs one miss, and no blob is fetched', async (_name, result) => {
    const url = await serve(result);
    const build = (...flags: string[]) =>
      shop.run([...flags, '--output', 'out', '--', 'sh', '-c', 'echo right > out']);
    expect((await build('--remote', url)).summary).toMatchObject({ outcome: 'miss', published: true });
    expect(asked.filter((line) => line === 'GET /cas')).toEqual([]);
    expect((await build()).summary.outcome).toBe('hit-local');
  });
});
