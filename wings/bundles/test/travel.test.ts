// Bundles as people use them: `assay export` on one machine, `assay import` on another, and what a run does there.
// Another machine is another store and another workspace.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { openDiskStore } from '../../../store/open.ts';
import { baseEnvironment, DEFAULT_FORM, FORMS, type Ran, Workshop } from '../../../test/rig/assay.ts';
import { noise, Random } from '../../../test/rig/random.ts';
import { soak } from '../../../test/rig/soak.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../../../test/store/content.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_119);

let shop: Workshop;
let elsewhere: string;
let bundle: string;
/** The other machine. */
let there: { readonly cwd: string; readonly env: { readonly ASSAY_STORE: string } };
beforeEach(() => {
  shop = new Workshop();
  elsewhere = shop.another('elsewhere');
  bundle = join(shop.folder, 'results.bundle');
  there = { cwd: elsewhere, env: { ASSAY_STORE: join(shop.folder, 'other-store') } };
});
afterEach(() => shop.remove());

function everywhere(path: string, content: string): void {
  shop.write(path, content);
  shop.write(path, content, 0o644, elsewhere);
}

async function succeeding(running: Promise<Ran>): Promise<Ran> {
  const ran = await running;
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

async function carry(...args: readonly string[]): Promise<void> {
  await succeeding(shop.assay(['export', ...args, bundle]));
  await succeeding(shop.assay(['import', bundle], there));
}

const STEPS = JSON.stringify({
  steps: {
    make: {
      command: 'mkdir -p out/in; cp in.txt out/in/a; chmod +x out/in/a; ln -s in/a out/link; echo made',
      inputs: ['in.txt'],
      outputs: ['out'],
    },
    use: { command: 'cat out/link extra.txt > used.txt', inputs: ['out'], outputs: ['used.txt'] },
    other: { command: 'cp in.txt other.txt', inputs: ['in.txt'], outputs: ['other.txt'] },
  },
});

describe('steps', () => {
  beforeEach(() => {
    everywhere('assay.json', STEPS);
    everywhere('in.txt', 'hello\n');
    everywhere('extra.txt', 'extra\n');
  });

  test('with those that they depend on are hits on another machine, with their outputs and logs', async () => {
    await succeeding(shop.assay(['run', 'use', 'other']));
    await carry('--steps', 'use');
    const ran = await succeeding(shop.assay(['run', 'use'], there));
    expect(ran.stderr).toContain('2 steps: 2 hit');
    expect(ran.stdout).toBe('made\n');
    expect(readFileSync(join(elsewhere, 'used.txt'), 'utf8')).toBe('hello\nextra\n');
    expect(statSync(join(elsewhere, 'out/in/a')).mode & 0o111).not.toBe(0);
    expect((await shop.assay(['run', 'other'], there)).stderr).toContain('1 step: 1 ran');
    const explained = await succeeding(shop.assay(['show', 'use'], there));
    expect(explained.stdout).toContain('extra.txt, file');
  });

  test('are hits only where their facts compare equal', async () => {
    await succeeding(shop.assay(['run', 'use']));
    shop.write('extra.txt', 'different\n', 0o644, elsewhere);
    await carry('--steps', 'use');
    const ran = await succeeding(shop.assay(['run', 'use'], there));
    expect(ran.stderr).toContain('2 steps: 1 hit, 1 ran');
    expect(readFileSync(join(elsewhere, 'used.txt'), 'utf8')).toBe('hello\ndifferent\n');
  });

  test('are taken back by the digest of their bundle, and the write log has both', async () => {
    await succeeding(shop.assay(['run', 'use']));
    await carry('--steps', 'use');
    const { stdout } = await succeeding(shop.assay(['show', '--bundle', bundle, '--json']));
    const digest = JSON.parse(stdout.split('\n')[0] ?? '').bundle;
    await succeeding(shop.assay(['forget', '--bundle', digest, '--yes'], there));
    expect((await shop.assay(['run', 'use'], there)).stderr).toContain('2 steps: 2 ran');
    const folder = join(there.env.ASSAY_STORE, 'log');
    const log = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('');
    const lines = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { what: 'import', results: 2, protocol: `bundle:${digest}` },
      { what: 'forget', removed: 4, selected: { bundle: digest } },
    ]);
  });

  test('go through a pipe, an OCI layout, and a signature', async () => {
    await succeeding(shop.assay(['run', 'make']));
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: shop.folder, stdio: 'pipe' });
    openssl('genpkey', '-algorithm', 'ed25519', '-out', 'key.pem');
    openssl('pkey', '-in', 'key.pem', '-pubout', '-out', 'public.pem');
    openssl('genpkey', '-algorithm', 'ed25519', '-out', 'other.pem');
    openssl('pkey', '-in', 'other.pem', '-pubout', '-out', 'other-public.pem');
    const key = (name: string) => join(shop.folder, name);
    const assay = FORMS[DEFAULT_FORM].join(' ');
    const piped = `${assay} export --sign ${key('key.pem')} --steps make - | tee ${bundle} | ASSAY_STORE=${there.env.ASSAY_STORE} ${assay} import --trust ${key('public.pem')} -`;
    const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
    execFileSync('sh', ['-c', piped], { cwd: shop.workspace, env, stdio: 'pipe' });
    expect((await shop.assay(['run', 'make'], there)).stderr).toContain('1 step: 1 hit');
    const refused = await shop.assay(['import', '--trust', key('other-public.pem'), bundle], there);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('ASSAY_BUNDLE_UNTRUSTED')]);
    expect((await shop.assay(['import', '--trust', key('key.pem'), bundle], there)).stderr).toContain(
      'private key',
    );

    const layout = join(shop.folder, 'layout');
    await succeeding(shop.assay(['export', '--steps', 'make', '--oci', layout]));
    const third = { ...there, env: { ASSAY_STORE: join(shop.folder, 'third-store') } };
    await succeeding(shop.assay(['import', layout], third));
    rmSync(join(elsewhere, 'out'), { recursive: true });
    expect((await shop.assay(['run', 'make'], third)).stderr).toContain('1 step: 1 hit');
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
    const [{ digest, size }] = index.manifests;
    const manifest = readFileSync(join(layout, 'blobs/sha256', digest.replace('sha256:', '')));
    expect([digestOf(manifest).hash, manifest.length]).toEqual([digest.replace('sha256:', ''), size]);
    const { layers, config } = JSON.parse(manifest.toString());
    for (const blob of [...layers, config]) {
      const bytes = readFileSync(join(layout, 'blobs/sha256', blob.digest.replace('sha256:', '')));
      expect([`sha256:${digestOf(bytes).hash}`, bytes.length]).toEqual([blob.digest, blob.size]);
    }
  });

  test('the tars of GNU and BSD list what is inside, and unpack it', async () => {
    await succeeding(shop.assay(['run', 'make']));
    await succeeding(shop.assay(['export', '--steps', 'make', bundle]));
    /* CMake reads archives by libarchive, which is the tar of BSD. */
    for (const tar of [['tar'], ['cmake', '-E', 'tar']]) {
      const [program = '', ...args] = tar;
      const names = execFileSync(program, [...args, 'tf', bundle], { encoding: 'utf8' }).split('\n');
      expect(names, program).toEqual([
        'assay-bundle.json',
        'manifest/00000000.zst',
        'content/00000000.zst',
        'index.zst',
        'end.json',
        '',
      ]);
    }
    expect(
      JSON.parse(execFileSync('tar', ['-xOf', bundle, 'assay-bundle.json'], { encoding: 'utf8' })),
    ).toMatchObject({ format: 1 });
  });
});

test('a result that no fact stands for is taken only where that is asked for, as one of a server', async () => {
  const outside = join(shop.folder, 'outside');
  const unproven = [
    '--output',
    'out',
    '--keep-unproven=local',
    '--',
    'sh',
    '-c',
    `echo x | tee ${outside} > out`,
  ];
  const first = await shop.run(unproven);
  expect(first.summary.status).toBe('unproven');
  expect((await shop.run(unproven)).summary.outcome).toBe('hit-local');
  await carry();
  const again = await shop.run(unproven, there);
  expect(again.summary.outcome).toBe('miss');
  await succeeding(
    shop.assay(['import', bundle], { env: { ASSAY_STORE: join(shop.folder, 'third-store') } }),
  );
  const shared = unproven.map((arg) => arg.replace('=local', '=shared'));
  const third = { cwd: shop.another('third'), env: { ASSAY_STORE: join(shop.folder, 'third-store') } };
  expect((await shop.run(shared, third)).summary.outcome).toBe('hit-local');
});

test('a result that read a private file is left out', async () => {
  shop.write('.env', 'SECRET=1\n');
  await shop.run(['--output', 'out', '--', 'sh', '-c', 'wc -c < .env > out']);
  const ran = await shop.assay(['export', bundle]);
  expect([ran.code, ran.stdout]).toEqual([3, expect.stringContaining('left out: 1 result')]);
  expect(existsSync(bundle)).toBe(false);
});

test('a file under a label goes along', async () => {
  shop.write('cache/deps', 'installed\n');
  await succeeding(shop.assay(['save', 'deps-1', 'cache']));
  await carry('--label', 'deps-');
  await succeeding(shop.assay(['restore', 'deps-1', 'cache'], there));
  expect(readFileSync(join(elsewhere, 'cache/deps'), 'utf8')).toBe('installed\n');
});

test('what can’t be is told: no such step, nothing found, a file that is none, a store that is too small', async () => {
  everywhere('assay.json', STEPS);
  everywhere('in.txt', 'hello\n');
  const none = await shop.assay(['export', '--steps', 'nonsense', bundle]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('ASSAY_')]);
  await succeeding(shop.assay(['run', 'make']));
  const label = await shop.assay(['export', '--label', 'nothing', bundle]);
  expect([label.code, existsSync(bundle)]).toEqual([3, false]);
  const file = shop.write('text', 'x'.repeat(2000));
  expect((await shop.assay(['import', file], there)).stderr).toContain('ASSAY_BUNDLE_DAMAGED');
  shop.write('in.txt', 'y'.repeat(2_000_000));
  await succeeding(shop.assay(['run', 'make']));
  await succeeding(shop.assay(['export', bundle]));
  const small = await shop.assay(['import', bundle], { env: { ...there.env, ASSAY_MAX_SIZE: '1MB' } });
  expect([small.code, small.stderr]).toEqual([2, expect.stringContaining('ASSAY_BUNDLE_TOO_LARGE')]);
  const refused = await shop.assay(['import', join(shop.folder, 'missing')], there);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('ENOENT')]);
});

test('the results of one namespace are taken from the store of a server', async () => {
  const directory = join(shop.folder, 'server');
  const store = await openDiskStore({ directory });
  const put = async (tenant: string, name: string) => {
    const named = await putOne(store.tenant(tenant), contentOf(name, 100));
    const address = addressOf(name, parseNamespace(name));
    await store.tenant(tenant).results.put(address, resultNaming(named));
    return address.key;
  };
  const key = await put('acme', 'acme/app');
  for (const name of ['acme/application', 'acme/app/below', 'acme']) await put('acme', name);
  await put('beta', 'beta/app');
  await store.close();
  const from = ['export', '--store', directory, '--namespace'];
  await succeeding(shop.assay([...from, 'acme/app', bundle]));
  const listed = await succeeding(shop.assay(['show', '--bundle', bundle, '--json']));
  const [, ...records] = listed.stdout.trimEnd().split('\n');
  expect(records.map((line) => JSON.parse(line))).toMatchObject([{ result: key, in: '' }]);
  expect((await shop.assay([...from, 'acme/none', bundle])).code).toBe(3);
});

test('ASSAY_REMOTE alone is never asked and gets nothing', async () => {
  let connections = 0;
  const server = createServer(() => {
    connections++;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const env = { ASSAY_REMOTE: `http://127.0.0.1:${address.port}`, ASSAY_TOKEN: 'a-token' };
  shop.write('in.txt', 'hello\n');
  await shop.run(['--input', 'in.txt', '--output', 'out', '--', 'cp', 'in.txt', 'out']);
  await succeeding(shop.assay(['export', bundle], { env }));
  await succeeding(shop.assay(['import', bundle], { env: { ...there.env, ...env } }));
  expect(connections).toBe(0);
  const asked = await shop.assay(['import', '--remote', env.ASSAY_REMOTE, bundle], {
    env: { ...env, ASSAY_STORE: join(shop.folder, 'third-store') },
  });
  expect([asked.code, connections > 0]).toEqual([2, true]);
  server.close();
});

test('an output that is there and is no file stays what it is', async () => {
  shop.write('in.txt', 'hello\n');
  await shop.run(['--input', 'in.txt', '--output', 'out', '--', 'cp', 'in.txt', 'out']);
  execFileSync('mkfifo', [bundle]);
  for (const path of [bundle, elsewhere]) {
    const refused = await shop.assay(['export', path]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('no regular file')]);
  }
  expect(statSync(bundle).isFIFO()).toBe(true);
});

describe('40 results', () => {
  const random = new Random(SEED);
  const LONG = { timeout: soak(3_600_000, 180_000) };

  /** One in each part of the time that the command takes here, so that the kills meet every phase of it. */
  function momentsOf(took: number): number[] {
    const kills = soak(50, 2);
    return Array.from({ length: kills }, (_, at) =>
      Math.round(((at + random.below(1000) / 1000) / kills) * took),
    );
  }
  const NAMES = Array.from({ length: 40 }, (_, at) => `result ${at}`);

  async function withStore<T>(
    directory: string,
    use: (store: Awaited<ReturnType<typeof openDiskStore>>) => Promise<T>,
  ) {
    const store = await openDiskStore({ directory });
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }

  /** 40 results of a blob that compresses badly, and one that is in each of them. */
  function fill(): Promise<void> {
    return withStore(shop.store, async (store) => {
      const shared = await putOne(store, contentOf('shared', 100));
      for (const [number, name] of NAMES.entries()) {
        const own = await putOne(store, noise(SEED + number, 500_000));
        await store.results.put(addressOf(name), resultNaming(own, shared));
      }
    });
  }

  function started(args: readonly string[], store: string) {
    const [program, ...rest] = FORMS[DEFAULT_FORM];
    const env = { ...baseEnvironment(), ASSAY_STORE: store };
    const child = spawn(program, [...rest, ...args, '--json'], { env, stdio: 'ignore' });
    return { child, ended: once(child, 'exit') };
  }

  async function timeOf(args: readonly string[], store: string): Promise<number> {
    const began = performance.now();
    expect(await started(args, store).ended).toEqual([0, null]);
    return performance.now() - began;
  }

  async function killedAfter(moment: number, args: readonly string[], store: string): Promise<void> {
    const { child, ended } = started(args, store);
    await wait(moment);
    child.kill('SIGKILL');
    await ended;
  }

  const missingIn = (directory: string, names: readonly string[]) =>
    withStore(directory, async (store) => {
      const found = await Promise.all(names.map((name) => store.results.get(addressOf(name))));
      return names.filter((_, at) => found[at] === undefined);
    });

  test(
    'an import that is killed shows nothing or whole results, and the next one goes on',
    LONG,
    async () => {
      await fill();
      await succeeding(shop.assay(['export', bundle]));
      const seen = { nothing: 0, some: 0, all: 0 };
      const took = await timeOf(['import', bundle], join(shop.folder, 'unharmed'));
      for (const moment of momentsOf(took)) {
        const directory = join(shop.folder, 'harmed');
        await killedAfter(moment, ['import', bundle], directory);
        const missing = await missingIn(directory, NAMES);
        seen[missing.length === 0 ? 'all' : missing.length === NAMES.length ? 'nothing' : 'some']++;
        const shown = NAMES.filter((name) => !missing.includes(name));
        await withStore(directory, async (store) => {
          for (const name of shown)
            for (const { hash, size } of (await store.results.get(addressOf(name)))?.references ?? [])
              expect((await readFrom(store, { hash, size }))?.length).toBe(size);
        });
        await succeeding(shop.assay(['import', bundle], { env: { ASSAY_STORE: directory } }));
        expect(await missingIn(directory, NAMES)).toEqual([]);
        rmSync(directory, { recursive: true });
      }
      console.log('kills of an import, by the results that it showed:', seen);
    },
  );

  test('an export that is killed leaves no file under its name, or a whole one', LONG, async () => {
    await fill();
    const seen = { 'no file': 0, 'a part': 0, 'a whole file': 0 };
    const took = await timeOf(['export', bundle], shop.store);
    rmSync(bundle);
    for (const moment of momentsOf(took)) {
      await killedAfter(moment, ['export', bundle], shop.store);
      const hasPart = existsSync(`${bundle}.partial`);
      seen[existsSync(bundle) ? 'a whole file' : hasPart ? 'a part' : 'no file']++;
      if (existsSync(bundle)) await succeeding(shop.assay(['import', bundle], there));
      rmSync(bundle, { force: true });
    }
    console.log('kills of an export, by what they left:', seen);
    await succeeding(shop.assay(['export', bundle]));
    expect(existsSync(`${bundle}.partial`)).toBe(false);
    appendFileSync(bundle, 'x');
    expect((await shop.assay(['import', bundle], there)).code).toBe(2);
  });

  test('two imports of one bundle at once both end well', async () => {
    await fill();
    await succeeding(shop.assay(['export', bundle]));
    const [first, second] = [
      started(['import', bundle], there.env.ASSAY_STORE),
      started(['import', bundle], there.env.ASSAY_STORE),
    ];
    expect([await first.ended, await second.ended]).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await missingIn(there.env.ASSAY_STORE, NAMES)).toEqual([]);
  });
});
