// A pull request that announces more than it sends takes nothing from the others: neither their hits nor the
// space for their writes. The store is used, near its limit, and has several tenants.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { WriteRequest } from '../../core/proto/generated/bytestream.ts';
import { openDiskStore } from '../../store/open.ts';
import { temporaryFolder } from '../rig/disk-store.ts';
import { GrpcClient } from '../rig/grpc.ts';
import { EVERYBODY } from '../server/access/identities.ts';
import { PATHS, uploadName } from '../server/protocols/reapi/rig.ts';
import { ask, putHead, RawConnection, type TestServer, testServer } from '../server/rig.ts';
import { contentOf, resultNaming } from '../store/content.ts';

const MIB = 1024 * 1024;
const LIMIT = 48 * MIB;
const ANNOUNCED = LIMIT - 4 * MIB;
const ENTRIES = 30;
const LEASE_MS = 60_000;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const keyOf = (name: string) => digestOf(Buffer.from(name)).hash;

async function store(server: TestServer, token: string, name: string, size: number): Promise<number> {
  const body = contentOf(name, size);
  const digest = digestOf(body);
  const headers = bearer(token);
  const sent = await ask(`${server.url}/cas/${digest.hash}`, 'PUT', { headers, body });
  if (sent.status !== 200) return sent.status;
  const result = resultNaming(digest);
  return (await ask(`${server.url}/ac/${keyOf(name)}`, 'PUT', { headers, body: result })).status;
}

async function hits(server: TestServer, token: string): Promise<number> {
  let found = 0;
  for (let index = 0; index < ENTRIES; index++) {
    const answer = await ask(`${server.url}/ac/${keyOf(`${token} ${index}`)}`, 'GET', {
      headers: bearer(token),
    });
    if (answer.status === 200) found++;
  }
  return found;
}

/** Main and another tenant have used the store until it was nearly full. No lease is valid any more. */
async function usedServer(): Promise<TestServer> {
  let now = 0;
  const clock = { name: 'test', now: () => now };
  const directory = temporaryFolder();
  const server = await testServer({
    store: (onEvent) =>
      openDiskStore({ directory, onEvent, clock, leaseMs: LEASE_MS, maxSize: { bytes: LIMIT } }),
    identities: EVERYBODY,
  });
  for (let index = 0; index < ENTRIES; index++)
    for (const token of ['main', 'other'])
      expect(await store(server, token, `${token} ${index}`, 0.74 * MIB)).toBe(200);
  now += 4 * LEASE_MS;
  await sleep(1100);
  return server;
}

const ATTACKS: Record<string, (server: TestServer, index: number) => Promise<() => void>> = {
  'a PUT with Content-Length': async (server, index) => {
    const connection = await RawConnection.to(server);
    const path = `/cas/${keyOf(`attack ${index}`)}`;
    connection.send(putHead(path, 'authorization: Bearer pull', `content-length: ${ANNOUNCED}`));
    connection.send(Buffer.alloc(900));
    return () => connection.send('x');
  },
  'a ByteStream write': async (server, index) => {
    const client = await GrpcClient.to(server.url, bearer('pull'));
    const call = client.open(PATHS.write);
    const digest = { hash: digestOf(Buffer.from(`attack ${index}`)).hash, size: ANNOUNCED };
    const about = { resourceName: uploadName(digest, `${index}`), finishWrite: false };
    await call.send(WriteRequest.encode({ ...about, writeOffset: 0, data: Buffer.alloc(900) }).finish());
    let writeOffset = 900;
    return () =>
      void call.send(
        WriteRequest.encode({ ...about, writeOffset: writeOffset++, data: Buffer.alloc(1) }).finish(),
      );
  },
};

test.each(Object.entries(ATTACKS))(
  '%s that sends next to nothing takes no hit and no space',
  async (_name, attack) => {
    const server = await usedServer();
    const drips = [];
    for (let index = 0; index < 4; index++) drips.push(await attack(server, index));
    for (let round = 0; round < 3; round++) {
      await sleep(200);
      for (const drip of drips) drip();
      expect(await store(server, 'other', `other round ${round}`, 100_000)).toBe(200);
      for (const path of ['/healthz', '/readyz']) expect((await ask(server.url + path)).status).toBe(200);
    }
    expect([await hits(server, 'main'), await hits(server, 'other')]).toEqual([ENTRIES, ENTRIES]);
  },
);
