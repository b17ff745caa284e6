// `assay verify` on a damaged store.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, toWire } from '../../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../../core/namespace.ts';
import { assetAddress, encodeAsset } from '../../../../server/protocols/asset/asset.ts';
import { storeChunks } from '../../../../server/protocols/reapi/chunk-list.ts';
import { openDiskStore } from '../../../../store/open.ts';
import { baseEnvironment, CLIENT_FORM, FORMS, Workshop } from '../../../rig/assay.ts';
import { ServerProcess } from '../../../rig/server.ts';
import { contentOf } from '../../../store/content.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const verify = async (...args: string[]) => {
  const ran = await shop.assay(['verify', '--json', ...args]);
  return { ...ran, found: JSON.parse(ran.stdout || '{}') };
};

const build = (number: number) => [
  ...['--output', `out${number}`, '--', 'sh', '-c'],
  `mkdir -p out${number}/deep/empty; head -c ${100_000 + number} /dev/zero > out${number}/large; echo ${number} > out${number}/deep/small; ln -s deep/small out${number}/link`,
];

function largeFiles(): string[] {
  return readdirSync(join(shop.store, 'v5/files'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function harm(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, 'X', 1234);
  closeSync(file);
}

test('verify finds an intact store intact, and restores sampled results exactly', async () => {
  // A watched run would also store its path set, which is a result too.
  for (const number of [1, 2, 3]) await shop.run(['--hermetic=off', ...build(number)]);
  const { code, found } = await verify('--restore', '2');
  expect(found).toMatchObject({
    damaged: 0,
    results: 3,
    unusableResults: 0,
    restore: { restored: 2, failures: [] },
  });
  expect(found.restore.files).toBe(2 * 5);
  expect(code).toBe(0);
  const said = await shop.assay(['verify']);
  expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining('Every blob matches its SHA-256') });
});

test('a damaged blob is quarantined and named, is a miss, and the next run replaces it', async () => {
  await shop.run(build(1));
  const [path = ''] = largeFiles();
  harm(path);
  const { code, found } = await verify();
  expect(code).toBe(3);
  expect(found).toMatchObject({ damaged: 1, healed: 0, unusableResults: 1, damage: [{ size: 100_001 }] });
  expect(path).toContain(found.damage[0].hash);
  expect(readdirSync(join(shop.store, 'v5/quarantine'))).toHaveLength(1);
  const again = await shop.assay(['verify']);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('1 result lacks a blob') });
  expect(again.stdout).toContain('lacks a blob: a miss');
  expect((await shop.run(build(1))).summary).toMatchObject({ outcome: 'miss', published: true });
  expect(await verify()).toMatchObject({ code: 0, found: { damaged: 0, unusableResults: 0 } });
});

test('a damaged blob is fetched again from a remote that has it', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'remote'));
  try {
    for (const number of [1, 2]) await shop.run(['--remote', server.url, ...build(number)]);
    for (const path of largeFiles()) harm(path);
    expect(await verify('--remote', server.url)).toMatchObject({ code: 3, found: { damaged: 2, healed: 2 } });
    expect(await verify()).toMatchObject({ code: 0, found: { damaged: 0, unusableResults: 0 } });
    expect((await shop.run(build(1))).summary.outcome).toBe('hit-local');
  } finally {
    await server.stop();
  }
});

test('a killed verify resumes where it stopped', async () => {
  const store = await openDiskStore({ directory: shop.store });
  const blobs = Array.from({ length: 60 }, (_, number) => contentOf(`resumed ${number}`, 600_000));
  for (const bytes of blobs) await store.blobs.put(digestOf(bytes), bytes);
  await store.close();
  const journal = join(shop.store, 'verify.json');
  const [program, ...before] = FORMS[CLIENT_FORM];
  const child = spawn(program, [...before, 'verify', '--rate', '10', '--store', shop.store, '--json'], {
    env: baseEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr.setEncoding('utf8');
  let progress = '';
  while (!/"blobs":[1-9]\d/.test(progress)) progress += (await once(child.stderr, 'data'))[0];
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const seen = JSON.parse(readFileSync(journal, 'utf8'));
  expect(seen.finishedAt).toBeUndefined();
  expect(seen.blobs).toBeGreaterThan(0);
  harm(largeFiles().sort().at(-1) ?? '');
  const { found } = await verify();
  expect(found).toMatchObject({ resumedAt: seen.startedAt, blobs: 60, damaged: 1 });
  expect(JSON.parse(readFileSync(journal, 'utf8')).finishedAt).toBeGreaterThan(0);
  expect((await verify()).found.resumedAt).toBeUndefined();
});

test('a running server verifies its store in the background, and keeps serving', async () => {
  const store = await openDiskStore({ directory: shop.store });
  const bytes = contentOf('scrubbed', 200_000);
  const { hash } = await store.blobs.put(digestOf(bytes), bytes);
  await store.close();
  harm(largeFiles()[0] ?? '');
  const server = await ServerProcess.start(shop.store, { args: ['--verify-rate', '100'] });
  try {
    while (!existsSync(join(shop.store, 'verify.json')))
      await once(server.child.stderr ?? server.child, 'data');
    expect((await fetch(`${server.url}/cas/${hash}`)).status).toBe(404);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(/event="quarantined"} 1/);
    expect((await fetch(`${server.url}/cas/${hash}`, { method: 'PUT', body: bytes })).status).toBe(200);
  } finally {
    await server.stop();
  }
});

describe('a store that other tools have used', () => {
  const GRADLE_KEY = 'ab'.repeat(16);

  /** Entries of a protocol with and without a namespace, a divergent result, and unrestorable results. */
  async function useByTools(): Promise<void> {
    const server = await ServerProcess.start(shop.store);
    try {
      const put = async (path: string, body: string) => {
        const { status } = await fetch(`${server.url}${path}`, { method: 'PUT', body });
        expect(status).toBeLessThan(300);
      };
      await put(`/gradle/${GRADLE_KEY}`, 'the first');
      await put(`/gradle/${GRADLE_KEY}`, 'a rival');
      await put(`/gradle/team/one/${GRADLE_KEY}`, 'of a team');
      await put(`/${'n'.repeat(255)}/ac/${'cd'.repeat(32)}`, '');
      await put('/s3/bucket/key', 'an object');
    } finally {
      await server.stop();
    }
    const store = await openDiskStore({ directory: shop.store });
    const chunk = Buffer.from('a chunk');
    const folder = Buffer.alloc(0);
    for (const bytes of [chunk, folder]) await store.blobs.put(digestOf(bytes), bytes);
    await storeChunks(store.results, digestOf(Buffer.from('whole')).hash, [digestOf(chunk), digestOf(chunk)]);
    const asset = encodeAsset({
      kind: 'directory',
      digest: toWire(digestOf(folder)),
      referencesBlobs: [],
      referencesDirectories: [],
      pushedAt: { seconds: 1, nanos: 0 },
      expiresAt: undefined,
    });
    await store.results.put(assetAddress(DEFAULT_NAMESPACE, 'directory', 'urn:x', []), asset);
    await store.close();
  }

  test('verify checks every result, and other tools’ results are not failures', async () => {
    await useByTools();
    const { code, found, stderr } = await verify('--restore', '100');
    expect(stderr).not.toContain('ASSAY_');
    expect(found).toMatchObject({
      damaged: 0,
      results: 7,
      unusableResults: 0,
      restore: { restored: 5, skipped: 1, failures: [] },
    });
    expect(code).toBe(0);
    expect((await shop.assay(['verify', '--restore', '100'])).stdout).toContain(
      'of other tools not restored',
    );
  });

  test('a server with --verify-rate completes a pass', async () => {
    await useByTools();
    const server = await ServerProcess.start(shop.store, { args: ['--verify-rate', '100'] });
    let said = '';
    server.child.stderr?.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    try {
      while (!/verif/.test(said)) await once(server.child.stderr ?? server.child, 'data');
      expect(said).toContain('verified the store');
      expect((await fetch(`${server.url}/gradle/${GRADLE_KEY}`)).status).toBe(200);
    } finally {
      await server.stop();
    }
  });

  test('gc, stats and doctor work', async () => {
    await useByTools();
    for (const command of ['gc', 'stats', 'doctor'])
      expect((await shop.assay([command])).stderr).not.toContain('ASSAY_');
  });
});

describe('verify refuses', () => {
  test('a folder without a store, and creates none there', async () => {
    const { code, stderr } = await shop.assay(['verify']);
    expect({ code, isBegun: existsSync(shop.store) }).toEqual({ code: 2, isBegun: false });
    expect(stderr).toContain('ASSAY_NO_STORE');
  });

  test.each([['--rate', '0'], ['--rate', 'fast'], ['--restore', '-1'], ['--remote', 'ftp://x'], ['stray']])(
    'the arguments %s %s',
    async (...args) => {
      expect(await shop.assay(['verify', ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('ASSAY_USAGE'),
      });
    },
  );
});
