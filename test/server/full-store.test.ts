// Large uploads to a server whose store is full: refused, aborted and abandoned uploads release their space.
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { LAYOUT_VERSION } from '../../store/disk/fs/layout.ts';
import { STORE } from '../../store/limits.ts';
import { openDiskStore } from '../../store/open.ts';
import { Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { temporaryFolder } from '../rig/stores/disk-store.ts';
import { contentOf, putOne } from '../store/content.ts';
import { reapiClient, uploadName } from './protocols/reapi/rig.ts';
import { ask, putHead, RawConnection, type TestServer, testServer } from './rig.ts';

const MIB = 1024 * 1024;
const LIMIT = 10 * MIB;

async function fullServer(): Promise<{ server: TestServer; directory: string }> {
  const directory = temporaryFolder();
  const server = await testServer({
    store: (onEvent) => openDiskStore({ directory, onEvent, maxSize: { bytes: LIMIT } }),
  });
  return { server, directory };
}

const stagedIn = (directory: string) => readdirSync(join(directory, LAYOUT_VERSION, 'staging'));

function stagedBytes(directory: string): number {
  const folder = join(directory, LAYOUT_VERSION, 'staging');
  return stagedIn(directory).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function put(url: string, name: string, size: number): Promise<number> {
  const body = contentOf(name, size);
  return (await ask(`${url}/cas/${digestOf(body).hash}`, 'PUT', { body })).status;
}

const WAYS: Record<string, (server: TestServer, bytes: Buffer) => Promise<boolean>> = {
  'ByteStream writes': async ({ url }, bytes) => {
    const client = await reapiClient(url);
    const name = uploadName(digestOf(bytes), digestOf(bytes).hash);
    return (await client.write(name, bytes, { pieceBytes: 256 * 1024 })).status === 'OK';
  },
  'resumable uploads': async ({ url }, body) => {
    const headers = { 'upload-complete': '?1' };
    return (await ask(`${url}/cas/${digestOf(body).hash}`, 'PUT', { body, headers })).status === 200;
  },
};

describe('a full store', () => {
  test.each(Object.entries(WAYS))(
    'accepts as many of the concurrent %s as fit, and keeps working',
    async (name, send) => {
      const { server, directory } = await fullServer();
      const contents = Array.from({ length: 8 }, (_, index) => contentOf(`${name} ${index}`, 4 * MIB));
      const taken = (await Promise.all(contents.map((bytes) => send(server, bytes)))).filter(Boolean);
      expect(taken).toHaveLength(2);
      await expect.poll(() => stagedIn(directory)).toEqual([]);
      expect(await put(server.url, 'afterwards', MIB)).toBe(200);
    },
  );

  test('frees the space of aborted uploads for others', async () => {
    const { server, directory } = await fullServer();
    for (let index = 0; index < 2; index++) {
      const bytes = contentOf(`broken ${index}`, 4 * MIB);
      const connection = await RawConnection.to(server);
      const path = `/cas/${digestOf(bytes).hash}`;
      connection.send(putHead(path, 'upload-complete: ?1', `content-length: ${bytes.length}`));
      connection.send(bytes.subarray(0, 3 * MIB));
      const known = () => server.store.uploads.status(`http  ${digestOf(bytes).hash}`);
      await expect.poll(() => stagedBytes(directory)).toBe(3 * MIB * (index + 1));
      connection.socket.destroy();
      await expect.poll(async () => (await known())?.committed).toBe(3 * MIB);
    }
    for (let index = 0; index < 2; index++)
      expect(await put(server.url, `afterwards ${index}`, 4 * MIB)).toBe(200);
  });
});

test('staging files of killed servers are removed by the next start, and by gc', async () => {
  const shop = new Workshop();
  try {
    const staging = join(shop.store, LAYOUT_VERSION, 'staging');
    const bytes = contentOf('cut off', 3 * MIB);
    const cutOff = async () => {
      const server = await ServerProcess.start(shop.store);
      const connection = await RawConnection.to({ port: Number(new URL(server.url).port) });
      connection.send(putHead(`/cas/${digestOf(bytes).hash}`, `content-length: ${bytes.length}`));
      connection.send(bytes.subarray(0, 2 * MIB));
      await expect.poll(() => readdirSync(staging).length).toBe(1);
      await server.kill();
      const then = new Date(Date.now() - STORE.idleUploadMs);
      for (const name of readdirSync(staging)) utimesSync(join(staging, name), then, then);
    };
    await cutOff();
    const next = await ServerProcess.start(shop.store);
    await expect.poll(() => readdirSync(staging)).toEqual([]);
    await next.stop();
    await cutOff();
    const { stdout } = await shop.assay(['gc']);
    expect(stdout).toContain('1 unfinished upload');
    expect(readdirSync(staging)).toEqual([]);
  } finally {
    shop.remove();
  }
});

test('a store full of leased blobs refuses a write, and keeps no part of it', async () => {
  const { server, directory } = await fullServer();
  await putOne(server.store, contentOf('leased', 8 * MIB));
  expect(await put(server.url, 'too much', 4 * MIB)).toBe(507);
  expect(stagedIn(directory)).toEqual([]);
});
