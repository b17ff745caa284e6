// Bundles between stores on disk and a fleet, on a real PostgreSQL and a real bucket: what goes in comes out, and is a hit
// where its facts hold. By commands alone, because no wing imports another.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { baseEnvironment, FORMS, type Ran, runProcess, Workshop } from '../../../../test/rig/assay.ts';
import { Serve } from '../../../../test/server/commands/serve-process.ts';
import { freshFleet } from '../rig/services.ts';

const REQUEST = '$ASSAY_CHECKPOINT_DESK/1.request';
/** A folder with a link and a program; a fact; a state; a step that fails behind its checkpoint. */
const STEPS = {
  make: {
    command: 'mkdir -p out/in; cp in.txt out/in/a; chmod +x out/in/a; ln -s in/a out/link; echo made',
    inputs: ['in.txt'],
    outputs: ['out'],
  },
  use: { command: 'cat out/link extra.txt large.txt > used.txt', inputs: ['out'], outputs: ['used.txt'] },
  count: {
    command: [
      'cat progress/n || { mkdir -p progress; echo one > progress/n',
      `: > ${REQUEST}; while [ -e ${REQUEST} ]; do sleep 0.02; done; exit 1; }`,
      'cp progress/n counted.txt',
    ].join('\n'),
    inputs: ['in.txt'],
    outputs: ['counted.txt'],
    checkpoint: { folders: ['progress'], every: '60s' },
  },
  remember: {
    command: 'cat memory/n || mkdir -p memory; cp in.txt memory/n',
    inputs: ['in.txt'],
    state: ['memory'],
  },
};
/** Larger than what PostgreSQL keeps in its rows. */
const FILES = { 'in.txt': 'hello\n', 'extra.txt': 'extra\n', 'large.txt': 'a line\n'.repeat(30_000) };

let shop: Workshop;

interface Machine {
  assay(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  read(path: string): string;
}

/** A workspace with the same sources, but for `changed`, and a store of its own. */
function machine(name: string, changed: Readonly<Record<string, string>> = {}): Machine {
  const cwd = shop.another(name);
  const files = { 'assay.json': JSON.stringify({ steps: STEPS }), ...FILES, ...changed };
  for (const [path, content] of Object.entries(files)) shop.write(path, content, 0o644, cwd);
  const own = { ASSAY_STORE: join(shop.folder, `${name}-store`) };
  return {
    assay: (args, env = {}) => shop.assay(args, { cwd, env: { ...own, ...env } }),
    read: (path) => readFileSync(join(cwd, path), 'utf8'),
  };
}

async function succeeding(running: Promise<Ran>): Promise<Ran> {
  const ran = await running;
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

/** Every line of the manifest but its maker: results with their messages, path sets, labels, and the digest of each blob. */
function recordsIn(bundle: string): string[] {
  const slice = execFileSync('tar', ['-xOf', bundle, 'manifest/00000000.zst']);
  const [, ...records] = zstdDecompressSync(slice).toString().trimEnd().split('\n');
  return records.toSorted();
}

test('results of every kind go to a fleet and back in bundles, and hit where their facts hold', async () => {
  shop = new Workshop();
  onTestFinished(() => shop.remove());
  const env = { ...(await freshFleet()) };
  const migrating = { cwd: tmpdir(), env: { ...baseEnvironment(), ...env } };
  expect(await runProcess([...FORMS.source, 'db', 'migrate'], migrating)).toMatchObject({ code: 0 });
  const fleet = await new Serve(['--port', '0'], env).url();
  const disk = await new Serve(['--port', '0', '--store', join(shop.folder, 'server')]).url();
  const bundle = (name: string) => join(shop.folder, `${name}.bundle`);

  const here = machine('here');
  await succeeding(here.assay(['run', 'use', 'remember']));
  expect((await here.assay(['run', 'count'])).code).toBe(1);
  await succeeding(here.assay(['save', 'deps-1', 'large.txt']));
  await succeeding(here.assay(['export', bundle('here')]));
  const records = recordsIn(bundle('here'));
  for (const kind of ['', 'state', 'checkpoint', 'saved/'])
    expect(records.filter((record) => record.startsWith(`{"result":{"in":"${kind}`))).not.toEqual([]);
  expect(records.filter((record) => record.startsWith('{"set"'))).not.toEqual([]);

  /* From the disk to the fleet, to a server with a disk, and back to the fleet, where it is another namespace. */
  const carrier = machine('carrier');
  const places = [fleet, disk, `${fleet}/elsewhere`];
  let last = bundle('here');
  for (const [number, place] of places.entries()) {
    await succeeding(carrier.assay(['import', '--remote', place, last]));
    last = bundle(`from-${number}`);
    await succeeding(carrier.assay(['export', '--remote', place, last]));
    expect(recordsIn(last), place).toEqual(records);
  }

  /* From the fleet to a disk. The step goes on behind its checkpoint. */
  const back = machine('back');
  await succeeding(back.assay(['import', last]));
  const again = await succeeding(back.assay(['run', 'use', 'count', 'remember']));
  expect(again.stderr).toContain('4 steps: 3 hit');
  expect(again.stdout).toContain('one\n');
  expect(back.read('used.txt')).toBe(`hello\nextra\n${FILES['large.txt']}`);
  await succeeding(back.assay(['restore', 'deps-1', 'large.txt']));
  const changed = { 'extra.txt': 'different\n', 'in.txt': 'changed\n' };
  const edited = machine('edited', changed);
  await succeeding(edited.assay(['import', last]));
  const remembering = await succeeding(edited.assay(['run', 'remember']));
  expect(remembering.stdout).toContain('hello\n');

  /* What the fleet has is compared with the facts of a machine. */
  for (const place of places) {
    const same = machine(`same-${places.indexOf(place)}`);
    const hits = await succeeding(same.assay(['run', 'use'], { ASSAY_REMOTE: place }));
    expect(hits.stderr, place).toContain('2 steps: 2 hit (0 local, 2 remote)');
  }
  const other = machine('other', { 'extra.txt': 'different\n' });
  const ran = await succeeding(other.assay(['run', 'use'], { ASSAY_REMOTE: fleet }));
  expect(ran.stderr).toContain('2 steps: 1 hit (0 local, 1 remote), 1 ran');
  expect(other.read('used.txt')).toContain('different\n');
});
