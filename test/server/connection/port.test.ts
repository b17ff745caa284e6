// One port for HTTP/1 and gRPC: distinguished by the first bytes, however they are split.
import { connect as connectHttp2 } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { contentOf } from '../../store/content.ts';
import { reapiClient } from '../protocols/reapi/rig.ts';
import { ask, RawConnection, testServer } from '../rig.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const SETTINGS_FRAME = 4;
const PING = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
const BYTES = contentOf('some bytes', 100);

test('HTTP/1 and gRPC are served on one port', async () => {
  const server = await testServer();
  const client = await reapiClient(server.url);
  const [digest] = await client.put(BYTES);
  const answer = await ask(`${server.url}/cas/${digest?.hash}`);
  expect([answer.status, answer.body]).toEqual([200, BYTES]);
  expect(await client.missing(digestOf(BYTES))).toEqual([]);
});

describe('a connection whose first bytes arrive in pieces', () => {
  const beginning = Buffer.concat([PREFACE, EMPTY_SETTINGS]);
  const cuts = Array.from({ length: beginning.length - 1 }, (_, at) => [at + 1] as const);

  test.each(cuts)('gRPC, cut at byte %i', async (at) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(beginning.subarray(0, at));
    await nextTurn();
    await nextTurn();
    connection.send(beginning.subarray(at));
    await untilFrame(connection);
    expect(connection.received[3]).toBe(SETTINGS_FRAME);
  });

  test('gRPC, byte by byte', async () => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.socket.setNoDelay(true);
    for (const byte of beginning) {
      connection.send(Buffer.from([byte]));
      await nextTurn();
    }
    await untilFrame(connection);
    expect(connection.received[3]).toBe(SETTINGS_FRAME);
  });

  test.each(['PROPFIND', 'PUT', 'POST', 'GET', 'PATCH', 'PRINCE'])(
    'HTTP/1, byte by byte: %s',
    async (method) => {
      const server = await testServer();
      const connection = await RawConnection.to(server);
      connection.socket.setNoDelay(true);
      for (const byte of Buffer.from(
        `${method} /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
      )) {
        connection.send(Buffer.from([byte]));
        await nextTurn();
      }
      const received = await connection.untilClosed();
      if (method === 'PRINCE') expect(received).not.toContain('HTTP/1.1 200');
      else expect(received).toMatch(method === 'GET' ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 40[45] /);
    },
  );
});

describe('the header of a first request', () => {
  const request = Buffer.from('GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const cuts = Array.from({ length: request.length - 1 }, (_, at) => [at + 1] as const);

  test.each(cuts)('cut at byte %i', async (at) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(request.subarray(0, at));
    await nextTurn();
    await nextTurn();
    connection.send(request.subarray(at));
    expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ['one that ends in its middle', 'GET /healthz HTT'],
    ['one with a line that ends otherwise', 'GET /healthz HTTP/1.1\nhost: localhost\n'],
    ['one that begins with a small letter', 'get /hea'],
    ['a word of thirteen letters', 'AAAAAAAAAAAAA'],
  ])('%s is refused with 400', async (name, bytes) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(bytes);
    if (name.includes('ends in')) connection.socket.end();
    expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('that never ends is refused with 431', async () => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(`GET /healthz HTTP/1.1\r\nlong: ${'x'.repeat(20_000)}`);
    expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('of a client that continues after its 408 is not waited for', async () => {
    const server = await testServer({ limits: { noProgressMs: 300, lingerMs: 300, sweepMs: 10 } });
    const connection = await RawConnection.to(server, { allowHalfOpen: true });
    connection.send('GET /healthz HTTP/1.1\r\nx: ');
    const more = setInterval(() => connection.send('x'), 20);
    const received = await connection.untilClosed();
    clearInterval(more);
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('an idle connection', () => {
  /** Long enough for an active client to send something on a busy machine. */
  const limits = { noProgressMs: 500, sweepMs: 10 };

  test.each([
    ['sends nothing', ''],
    ['sends half a preface', 'PR'],
    ['sends a preface and nothing more', PREFACE],
    ['sends its settings and never calls', Buffer.concat([PREFACE, EMPTY_SETTINGS])],
  ])('that %s is closed', async (_name, bytes) => {
    const server = await testServer({ limits });
    const connection = await RawConnection.to(server);
    connection.send(bytes);
    await connection.untilClosed();
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });

  test('that sends only HTTP/2 pings after its settings is closed', async () => {
    const server = await testServer({ limits });
    const connection = await RawConnection.to(server);
    connection.send(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    const pings = setInterval(() => connection.send(PING), 50);
    await connection.untilClosed();
    clearInterval(pings);
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });

  test.each([
    ['ends after a byte', 'P'],
    ['ends at once', ''],
    ['ends after the preface', PREFACE],
  ])('that %s is closed', async (_name, bytes) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    if (bytes.length > 0) connection.send(bytes);
    connection.socket.end();
    await connection.untilClosed();
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });

  test.each([
    ['a preface with a wrong version', 'PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n'],
    ['a preface and noise', Buffer.concat([PREFACE, Buffer.alloc(100, 0xff)])],
    [
      'a frame that is too long',
      Buffer.concat([PREFACE, EMPTY_SETTINGS, Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])]),
    ],
  ])('that sends %s is closed', async (_name, bytes) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(bytes);
    await connection.untilClosed();
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });

  test('that is reset does no harm', async () => {
    const server = await testServer();
    for (const bytes of ['P', PREFACE, 'GET / HT']) {
      const connection = await RawConnection.to(server);
      connection.send(bytes);
      connection.socket.resetAndDestroy();
    }
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
  });
});

test('the connection limit includes those of gRPC', async () => {
  const server = await testServer({ limits: { maxConnections: 1 } });
  const client = await reapiClient(server.url);
  await client.put(BYTES);
  const second = await RawConnection.to(server);
  expect(await second.untilClosed()).toBe('');
  expect(await client.missing(digestOf(BYTES))).toEqual([]);
});

test('HTTP/2 that is not gRPC gets an error that says so', async () => {
  const server = await testServer();
  const session = connectHttp2(server.url);
  const status = await new Promise((resolve) => {
    session
      .request({ ':path': '/healthz' })
      .on('response', (headers) => resolve(headers[':status']))
      .resume();
  });
  session.destroy();
  expect(status).toBe(415);
});

async function untilFrame(connection: RawConnection): Promise<void> {
  await connection.untilLength(EMPTY_SETTINGS.length);
}
