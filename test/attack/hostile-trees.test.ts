// Hostile results: a remote sends outputs and trees whose names, links and nesting reach out of the
// workspace, and another process swaps folders for links while a restore is writing outputs. No byte, name or
// link outside the workspace changes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Digest, digestOf, toWire } from '../../core/digest.ts';
import { ActionResult, Directory, Tree } from '../../core/proto/generated/reapi.ts';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { describeTree } from '../rig/tree.ts';

let shop: Workshop;
let server: Server;
let outside = '';
const blobs = new Map<string, Buffer>();
let result: Buffer = Buffer.alloc(0);

beforeEach(async () => {
  shop = new Workshop();
  outside = shop.another('outside');
  writeFileSync(join(outside, 'precious'), 'untouched');
  mkdirSync(join(outside, 'folder'));
  server = createServer((request, response) => {
    request.resume();
    const name = /\/(?:ac|cas)\/([0-9a-f]{64})$/.exec(request.url ?? '')?.[1] ?? '';
    const found = request.url?.includes('/ac/') ? result : blobs.get(name);
    if (request.method === 'PUT') response.writeHead(200).end();
    else response.writeHead(found ? 200 : 404).end(request.method === 'HEAD' ? undefined : found);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  shop.remove();
});

function keep(bytes: Uint8Array): Digest {
  const digest = digestOf(bytes);
  blobs.set(digest.hash, Buffer.from(bytes));
  return digest;
}

const EVIL = Buffer.from('evil');

function resultOf(parts: Partial<ActionResult>): Buffer {
  return Buffer.from(ActionResult.encode({ ...ActionResult.decode(new Uint8Array(0)), ...parts }).finish());
}

const file = (name: string) => ({ name, digest: toWire(keep(EVIL)), isExecutable: false });
const link = (name: string, target: string) => ({ name, target });
const folder = (parts: Partial<Directory>): Directory => ({
  files: [],
  directories: [],
  symlinks: [],
  ...parts,
});

function treeResult(root: Directory, ...children: Directory[]): Buffer {
  const tree = keep(Tree.encode({ root, children }).finish());
  return resultOf({
    outputDirectories: [{ path: 'out', treeDigest: toWire(tree), isTopologicallySorted: false }],
  });
}

/** A child with a name, as a Tree message holds it. */
function nested(name: string, child: Directory, more: Partial<Directory> = {}): Buffer {
  const digest = toWire(digestOf(Directory.encode(child).finish()));
  return treeResult(folder({ ...more, directories: [{ name, digest }] }), child);
}

const NAMES = [
  '..',
  '.',
  '',
  '/',
  '../evil',
  '../../evil',
  '/etc/evil',
  'a/../../evil',
  'a/b',
  'a\0b',
  '..\0',
  '\0',
  'a\\..\\evil',
  '%bytes:2e2e',
  '%bytes:2e2e2f6576696c',
  '%bytes:2f',
  '%bytes:00',
  '%bytes:',
  '%bytes:zz',
  '\ud800',
  'x'.repeat(256),
  'x'.repeat(4096),
  '../'.repeat(1365),
  `${'d/'.repeat(2048)}`,
];
const outsideLink = () => ['../outside', outside, '../../../../../../..', '/', 'deep/../../outside', '..'];

/** Each entry is one result; `out` is the declared output. */
function hostileResults(): [string, Buffer][] {
  const named = NAMES.flatMap((name): [string, Buffer][] => [
    [`a file named ${JSON.stringify(name.slice(0, 30))}`, treeResult(folder({ files: [file(name)] }))],
    [`a folder named ${JSON.stringify(name.slice(0, 30))}`, nested(name, folder({ files: [file('evil')] }))],
  ]);
  const linked = outsideLink().flatMap((target): [string, Buffer][] => [
    [
      `a link to ${target}, and a file through it`,
      treeResult(folder({ symlinks: [link('l', target)], files: [file('l')] })),
    ],
    [
      `a link to ${target}, and a folder through it`,
      nested('l', folder({ files: [file('precious')] }), { symlinks: [link('l', target)] }),
    ],
    [`the output itself a link to ${target}`, resultOf({ outputSymlinks: [{ path: 'out', target }] })],
  ]);
  const twins: [string, Buffer][] = [
    ['a file twice', treeResult(folder({ files: [file('a'), file('a')] }))],
    ['names that differ in case', treeResult(folder({ files: [file('A'), file('a')] }))],
    ['names that differ in normalisation', treeResult(folder({ files: [file('\u00e9'), file('e\u0301')] }))],
    [
      'an output outside',
      resultOf({
        outputFiles: [
          { path: '../outside/evil', digest: toWire(keep(EVIL)), isExecutable: false, contents: EVIL },
        ],
      }),
    ],
    [
      'an absolute output',
      resultOf({
        outputFiles: [
          { path: join(outside, 'evil'), digest: toWire(keep(EVIL)), isExecutable: false, contents: EVIL },
        ],
      }),
    ],
  ];
  return [...named, ...linked, ...twins];
}

const url = () => {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};

test('for 60 and more hostile results, a run restores only inside the workspace or executes the command', {
  timeout: 300_000,
}, async () => {
  const before = describeTree(outside);
  const cases = hostileResults();
  expect(cases.length).toBeGreaterThanOrEqual(60);
  const seen = { refused: 0, restored: 0 };
  for (const [number, [title, hostile]] of cases.entries()) {
    result = hostile;
    rmSync(join(shop.workspace, 'out'), { recursive: true, force: true });
    const build = [
      '--remote',
      url(),
      '--env',
      `CASE=${number}`,
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      'mkdir out; echo right > out/a',
    ];
    const { code, summary } = await shop.run(build, { form: 'executable' });
    expect(code, title).toBe(0);
    expect(describeTree(outside), title).toEqual(before);
    expect(
      describeTree(shop.folder).filter((line) => /\bevil\b/.test(line) && !/^(workspace|store)\//.test(line)),
      title,
    ).toEqual([]);
    if (summary.outcome === 'miss') seen.refused++;
    else seen.restored++;
  }
  keepFigures('hostile-trees', {
    'hostile results': cases.length,
    refused: seen.refused,
    'restored inside the workspace': seen.restored,
    'bytes outside': 0,
  });
});

const SWAPS_DURING = 30;

test('a restore writes nothing outside the workspace while folders are swapped for links', {
  timeout: 300_000,
}, async () => {
  const before = describeTree(outside);
  // The command is not declared: once there is a result, a run that misses writes nothing. Every write is
  // Assay's.
  shop.script(
    'make.sh',
    'mkdir -p gen/deep/out',
    'for i in 1 2 3 4 5 6 7 8; do echo made > gen/deep/out/$i; done',
  );
  const args = ['--output', 'gen/deep/out', '--', 'sh', 'make.sh'];
  expect((await shop.run(args, { form: 'executable' })).summary.published).toBe(true);
  shop.script('make.sh', 'exit 7');
  const swapper = startSwapper();
  try {
    const seen = { hits: 0, others: 0 };
    for (let round = 0; round < SWAPS_DURING; round++) {
      const ran = await shop.run(args, { form: 'executable' }).catch(() => undefined);
      if (ran?.summary.outcome === 'hit-local') seen.hits++;
      else seen.others++;
      expect(describeTree(outside), `round ${round}`).toEqual(before);
    }
    expect(seen.hits + seen.others).toBe(SWAPS_DURING);
  } finally {
    await endSwapper(swapper);
  }
  expect(describeTree(outside)).toEqual(before);
});

/** Repeats: `gen/deep` is a folder, then a link to a folder outside, then a folder again. */
function startSwapper(): ChildProcess {
  const script = [
    `cd ${shop.workspace}`,
    'while :; do',
    '  sleep 0.02; rm -rf gen/deep/out; mv gen/deep gen/aside 2>/dev/null && ln -s ../../outside/folder gen/deep 2>/dev/null',
    '  rm -f gen/deep 2>/dev/null; mv gen/aside gen/deep 2>/dev/null || mkdir -p gen/deep 2>/dev/null',
    'done',
  ].join('\n');
  return spawn('sh', ['-c', script], { stdio: 'ignore' });
}

async function endSwapper(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
