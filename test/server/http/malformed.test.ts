// Malformed HTTP: the server refuses it, never crashes, and never stores it as part of another blob.
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { contentOf } from '../../store/content.ts';
import { ask, pathOf, putHead, RawConnection, storeWith, testServer } from '../rig.ts';

const MIB = 1024 * 1024;
const BYTES = contentOf('a blob', 100);
const PATH = pathOf(digestOf(BYTES));

test.each([
  ['noise', Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10])],
  ['a TLS hello', Buffer.from('1603010200010001fc0303', 'hex')],
  ['no host', Buffer.from('GET /status HTTP/1.1\r\n\r\n')],
  ['a header without a colon', Buffer.from('GET /status HTTP/1.1\r\nhost x\r\n\r\n')],
  ['a negative length', Buffer.from(putHead(PATH, 'content-length: -1'))],
  ['two lengths', Buffer.from(putHead(PATH, 'content-length: 1', 'content-length: 2'))],
  ['a length and chunks', Buffer.from(putHead(PATH, 'content-length: 5', 'transfer-encoding: chunked'))],
  ['a length in letters', Buffer.from(putHead(PATH, 'content-length: ten'))],
  ['an unknown method', Buffer.from('BREW /status HTTP/1.1\r\nhost: localhost\r\n\r\n')],
])('%s is refused with 400, and the connection is closed', async (_name, bytes) => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  connection.send(bytes);
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 400 /);
  expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
});

test('an invalid chunk size ends the upload', async () => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  connection.send(`${putHead(PATH, 'transfer-encoding: chunked')}xyz\r\n`);
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 400 /);
  expect(await ask(server.url + PATH)).toMatchObject({ status: 404 });
});

test('a request that arrives byte by byte is answered', async () => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  connection.socket.setNoDelay(true);
  const request = Buffer.concat([Buffer.from(putHead(PATH, 'content-length: 100')), BYTES]);
  for (const byte of request) {
    await new Promise((resolve) => connection.socket.write(Buffer.of(byte), resolve));
  }
  await connection.until('HTTP/1.1 200 OK');
  expect((await ask(server.url + PATH)).body.equals(BYTES)).toBe(true);
});

test.each([
  ['a small body', 5_000],
  ['a large body', 200_000],
])('%s that arrives in pieces of all sizes is stored unchanged', async (_name, size) => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  connection.socket.setNoDelay(true);
  const bytes = contentOf('in pieces', size);
  const path = pathOf(digestOf(bytes));
  connection.send(putHead(path, `content-length: ${size}`));
  for (let at = 0, length = 1; at < size; at += length, length = (length * 7) % 1009) {
    const piece = bytes.subarray(at, at + length);
    await new Promise((resolve) => connection.socket.write(piece, resolve));
  }
  await connection.until('HTTP/1.1 200 OK');
  expect((await ask(server.url + path)).body.equals(bytes)).toBe(true);
});

test('several requests in one packet are answered in order', async () => {
  const server = await testServer();
  await server.store.blobs.put(digestOf(BYTES), BYTES);
  const connection = await RawConnection.to(server);
  const get = `GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n`;
  connection.send(
    `${get}\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n${get}connection: close\r\n\r\n`,
  );
  const received = await connection.untilClosed();
  expect(received.match(/^content-length: \d+/gm)).toEqual([
    'content-length: 100',
    'content-length: 16',
    'content-length: 100',
  ]);
});

test('garbage after a request does not appear in its response', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const chunks = async function* () {
    yield Buffer.alloc(MIB, 'x');
    await held;
    yield Buffer.alloc(MIB, 'x');
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: 2 * MIB, chunks }) }) });
  const connection = await RawConnection.to(server);
  connection.send(`GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await connection.until('xxxx');
  connection.send('this is not HTTP\r\n\r\n');
  const received = await connection.untilClosed();
  release();
  expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toMatch(/^x*$/);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

describe('pipelined requests', () => {
  const GET = `GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

  async function slowServer() {
    const first = Promise.withResolvers<void>();
    const get = async () => {
      await first.promise;
      return { size: BYTES.length, bytes: BYTES };
    };
    return {
      server: await testServer({ store: storeWith({ get }), limits: { maxPipelined: 3 } }),
      release: first.resolve,
    };
  }

  test('are answered in order', async () => {
    const { server, release } = await slowServer();
    const connection = await RawConnection.to(server);
    connection.send(`${GET.repeat(3)}GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    release();
    await connection.until('"status":"ok"');
    connection.send(`${GET.repeat(3)}GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    expect((await connection.untilClosed()).match(/HTTP\/1\.1 200/g)).toHaveLength(8);
  });

  test('beyond the limit close the connection', async () => {
    const { server, release } = await slowServer();
    const connection = await RawConnection.to(server);
    connection.send(GET.repeat(5));
    expect(await connection.untilClosed()).toBe('');
    release();
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });
});

test('an Upgrade to another protocol is ignored, and the connection is closed after the response', async () => {
  const server = await testServer();
  const connection = await RawConnection.to(server);
  const offer = ['connection: upgrade, http2-settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQAAP__'];
  connection.send(putHead(PATH, ...offer, `content-length: ${BYTES.length}`));
  connection.send(BYTES);
  const received = await connection.untilClosed();
  expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
  expect((await ask(server.url + PATH)).body.equals(BYTES)).toBe(true);
});
