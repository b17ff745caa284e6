// /healthz reports whether the store is usable. A refused write gives the reason, and whether to retry.
import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { LAYOUT_VERSION } from '../../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../../store/open.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { temporaryFolder } from '../../rig/stores/disk-store.ts';
import { contentOf, putOne } from '../../store/content.ts';
import { ask, codeIn, pathOf, type TestServer, testServer } from '../rig.ts';

const MIB = 1024 * 1024;

async function served(directory: string, options: { maxSize?: number; readOnly?: boolean } = {}) {
  const maxSize = options.maxSize === undefined ? {} : { maxSize: { bytes: options.maxSize } };
  const server = await testServer({
    readOnly: options.readOnly ?? false,
    store: (onEvent) => openDiskStore({ directory, onEvent, ...maxSize }),
  });
  // A store in use, not a fresh one.
  await putOne(server.store, contentOf('before', 100_000));
  expect(await health(server)).toEqual([200, undefined]);
  return server;
}

async function health({ url }: TestServer): Promise<[number, unknown]> {
  const { status, body } = await ask(`${url}/healthz`);
  expect(body.toString().trimEnd()).not.toContain('\n');
  return [status, JSON.parse(body.toString()).reason];
}

function put({ url }: TestServer, name: string, size: number) {
  const bytes = contentOf(name, size);
  return ask(url + pathOf(digestOf(bytes)), 'PUT', { body: bytes });
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

function mounted(...args: string[]): void {
  run('mount', ...args);
  onTestFinished(() => {
    run('umount', '--lazy', args.at(-1) ?? '');
  });
}

describe('/healthz', () => {
  test('reports a store that was removed under the server', async () => {
    const directory = temporaryFolder();
    const server = await served(directory);
    rmSync(join(directory, LAYOUT_VERSION), { recursive: true });
    expect(await health(server)).toEqual([503, expect.stringContaining('removed')]);
  });

  test('reports a store that was replaced under the server, also if it is read-only', async () => {
    const directory = temporaryFolder();
    const server = await served(directory, { readOnly: true });
    renameSync(join(directory, LAYOUT_VERSION), join(directory, 'away'));
    await (await openDiskStore({ directory })).close();
    expect(await health(server)).toEqual([503, expect.stringContaining('replaced')]);
  });

  test('reports a read-only disk', async () => {
    const directory = temporaryFolder();
    const [server, reader] = [await served(directory), await served(directory, { readOnly: true })];
    mounted('--bind', directory, directory);
    run('mount', '-o', 'remount,bind,ro', directory);
    expect(await health(server)).toEqual([503, 'the disk under the store is read-only']);
    expect(await health(reader)).toEqual([200, undefined]);
  });

  test('reports a full disk, until space is free again', async () => {
    const disk = temporaryFolder();
    mounted('-t', 'tmpfs', '-o', `size=${24 * MIB}`, 'tmpfs', disk);
    const server = await served(join(disk, 'store'));
    const ballast = join(disk, 'ballast');
    expect(() => writeFileSync(ballast, Buffer.alloc(30 * MIB))).toThrow('ENOSPC');
    const refused = await put(server, 'too much', 2 * MIB);
    expect([refused.status, codeIn(refused)]).toEqual([507, 'ASSAY_DISK_FULL']);
    expect(refused.headers['retry-after']).toBeUndefined();
    expect(await health(server)).toEqual([503, 'the disk under the store is full']);
    rmSync(ballast);
    expect((await put(server, 'enough', 2 * MIB)).status).toBe(200);
    expect(await health(server)).toEqual([200, undefined]);
  });

  test('reports a file system that stops after an error, which still looks writable; reads go on', async () => {
    const image = join(temporaryFolder(), 'disk.img');
    run('truncate', '--size', '64M', image);
    run('mkfs.ext4', '-q', image);
    const disk = temporaryFolder();
    mounted('-o', 'loop,errors=remount-ro', image, disk);
    const server = await served(join(disk, 'store'));
    const device = run('findmnt', '--noheadings', '--output', 'SOURCE', disk).trim();
    writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, 'a test');
    for (const size of [1000, 200_000]) expect((await put(server, 'refused', size)).status).toBe(500);
    for (let asked = 0; asked < 3; asked++) {
      expect(await health(server)).toEqual([503, 'the disk under the store is read-only']);
      expect(await ask(`${server.url}/readyz`)).toMatchObject({ status: 503 });
    }
    const before = contentOf('before', 100_000);
    expect((await ask(server.url + pathOf(digestOf(before)))).body.equals(before)).toBe(true);
  });

  test('is red after a failed write until a write of the server succeeds', async () => {
    const disk = temporaryFolder();
    mounted('-t', 'tmpfs', '-o', `size=${64 * MIB},nr_inodes=60`, 'tmpfs', disk);
    const server = await served(join(disk, 'store'));
    const names = Array.from({ length: 60 }, (_, index) => join(disk, `${index}`));
    // No inode is left: a file can't be created although space is free. A small blob needs none.
    const fill = () => {
      for (const name of names) writeFileSync(name, '');
    };
    expect(fill).toThrow('ENOSPC');
    expect((await put(server, 'large', 200_000)).status).toBe(507);
    expect((await put(server, 'small', 1000)).status).toBe(200);
    expect(await health(server)).toEqual([503, 'the disk under the store is full']);
    for (const name of names) rmSync(name, { force: true });
    await expect.poll(() => health(server)).toEqual([200, undefined]);
    expect((await put(server, 'large', 200_000)).status).toBe(200);
  });

  test('stays green after a refused write to a store full of leased blobs', async () => {
    const server = await served(temporaryFolder(), { maxSize: 8 * MIB });
    expect((await put(server, 'leased', 6 * MIB)).status).toBe(200);
    const refused = await put(server, 'too much', 4 * MIB);
    expect([refused.status, codeIn(refused)]).toEqual([507, 'ASSAY_STORE_FULL']);
    expect(refused.headers['retry-after']).toBe('60');
    expect(await health(server)).toEqual([200, undefined]);
    expect(await ask(`${server.url}/readyz`)).toMatchObject({ status: 200 });
  });

  test('a blob larger than the whole store is refused, and evicts nothing', async () => {
    const server = await served(temporaryFolder(), { maxSize: 8 * MIB });
    const refused = await put(server, 'far too much', 9 * MIB);
    expect([refused.status, codeIn(refused)]).toEqual([413, 'ASSAY_TOO_LARGE']);
    expect(await health(server)).toEqual([200, undefined]);
    expect(await ask(server.url + pathOf(digestOf(contentOf('before', 100_000))))).toMatchObject({
      status: 200,
    });
  });
});

test('clean --whole-store removes nothing while a server uses the store, and reports that', async () => {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  mkdirSync(shop.store, { recursive: true });
  const server = await ServerProcess.start(shop.store);
  try {
    const bytes = contentOf('acknowledged', 1000);
    const url = server.url + pathOf(digestOf(bytes));
    expect(await ask(url, 'PUT', { body: bytes })).toMatchObject({ status: 200 });
    const refused = await shop.assay(['clean', '--whole-store']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('ASSAY_STORE_IN_USE');
    expect(refused.stderr).toContain(`process ${server.child.pid}`);
    expect(await ask(url)).toMatchObject({ status: 200 });
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  } finally {
    await server.stop();
  }
  expect(await shop.assay(['clean', '--whole-store'])).toMatchObject({ code: 0 });
});
