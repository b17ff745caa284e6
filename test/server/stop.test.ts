// Stopping a server: uploads in flight are finished or discarded whole, and no new connection is accepted.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';
import { contentOf } from '../store/content.ts';
import { pathOf, putHead, RawConnection, storeWith, testServer } from './rig.ts';

const MIB = 1024 * 1024;
const BYTES = contentOf('in flight', 2 * MIB);
const PATH = pathOf(digestOf(BYTES));
const HEAD = putHead(PATH, `content-length: ${BYTES.length}`, 'expect: 100-continue');

test('stop finishes an upload in flight, and accepts no new connection meanwhile', async () => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  connection.send(HEAD);
  await connection.until('100 Continue');
  connection.send(BYTES.subarray(0, MIB));
  const stopped = server.stop();
  const late = connect(server.port, '127.0.0.1');
  await expect(once(late, 'connect')).rejects.toThrow('ECONNREFUSED');
  connection.send(BYTES.subarray(MIB));
  const received = await connection.untilClosed();
  expect(received).toContain('HTTP/1.1 200 OK');
  expect(received).toContain('Connection: close');
  await stopped;
  expect(await server.store.blobs.get(digestOf(BYTES).hash)).toBeDefined();
});

test('a server of a fleet is unready before it closes its port, and works until then', async () => {
  const store = { ...openMemoryStore(), parts: async () => ({ index: 'ok' }) };
  const server = await testServer({ store, limits: { noticeMs: 4000 } });
  const readiness = async () => (await fetch(`${server.url}/readyz`)).status;
  expect(await readiness()).toBe(200);
  const stopped = server.stop();
  expect(await readiness()).toBe(503);
  const put = await fetch(`${server.url}${PATH}`, { method: 'PUT', body: BYTES });
  expect(put.status).toBe(200);
  await stopped;
  await expect(readiness()).rejects.toThrow();
});

test('stop discards the whole upload if it does not finish in time', async () => {
  const server = await testServer({ limits: { drainMs: 50 } });
  const connection = await RawConnection.to(server);
  connection.send(HEAD);
  await connection.until('100 Continue');
  connection.send(BYTES.subarray(0, BYTES.length - 1));
  await server.stop();
  await connection.untilClosed();
  expect(await server.store.blobs.get(digestOf(BYTES).hash)).toBeUndefined();
});

test('stop waits until the store has finished its pending writes', async () => {
  const events: string[] = [];
  let whenGiven = () => {};
  const given = new Promise<void>((resolve) => {
    whenGiven = resolve;
  });
  const slow = storeWith({
    async put() {
      whenGiven();
      await delay(300);
      events.push('stored');
      return digestOf(BYTES);
    },
  });
  const server = await testServer({ store: slow });
  const connection = await RawConnection.to(server);
  connection.send(`${putHead(PATH, 'content-length: 1')}x`);
  await given;
  connection.socket.destroy();
  await server.stop();
  events.push('stopped');
  expect(events).toEqual(['stored', 'stopped']);
});

test('stop gives up on a store that never finishes after its time limit', async () => {
  let whenGiven = () => {};
  const given = new Promise<void>((resolve) => {
    whenGiven = resolve;
  });
  const stuck = storeWith({
    put: () => {
      whenGiven();
      return new Promise(() => {});
    },
  });
  const server = await testServer({ store: stuck, limits: { drainMs: 20, discardMs: 20 } });
  const connection = await RawConnection.to(server);
  connection.send(`${putHead(PATH, 'content-length: 1')}x`);
  await given;
  await server.stop();
});

test('stop refuses a request that is only half received', async () => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  const busy = await RawConnection.to(server);
  busy.send(HEAD);
  await busy.until('100 Continue');
  connection.send('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nho');
  await connection.until('{"status":"ok"}');
  const stopped = server.stop();
  connection.send('st: x\r\n\r\n');
  const received = await connection.untilClosed();
  expect(received).toMatch(/HTTP\/1\.1 503 .*ASSAY_SHUTTING_DOWN/s);
  busy.send(BYTES);
  await stopped;
});

test('stop closes idle connections at once', async () => {
  const server = await testServer();
  const idle = await RawConnection.to(server);
  idle.send('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await idle.until('{"status":"ok"}');
  await server.stop();
  await idle.untilClosed();
});
