// Every wait has a time limit and every buffer a bound, for hostile and for slow clients.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { digestOf, EMPTY } from '../../../core/digest.ts';
import { addressOf, contentOf, resultWith, streamOf } from '../../store/content.ts';
import { ask, codeIn, pathOf, putHead, RawConnection, storeWith, testServer } from '../rig.ts';

const MIB = 1024 * 1024;
const BYTES = contentOf('a blob', 100);
const PATH = pathOf(digestOf(BYTES));
const IMPATIENT = { noProgressMs: 50, sweepMs: 10 };

describe('a body larger than the limit', () => {
  const limits = { maxBlobBytes: MIB };

  test('is refused before it is read, if its length is announced', async () => {
    const server = await testServer({ limits });
    const connection = await RawConnection.to(server);
    connection.send(putHead(PATH, `content-length: ${MIB + 1}`));
    expect(await connection.until('wayOut')).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('is refused as soon as it exceeds the limit, if its length is not announced', async () => {
    const server = await testServer({ limits });
    const bytes = contentOf('too large', 4 * MIB);
    const answer = await ask(server.url + pathOf(digestOf(bytes)), 'PUT', {
      body: Readable.from(streamOf(bytes)),
    });
    expect([answer.status, codeIn(answer)]).toEqual([413, 'ASSAY_TOO_LARGE']);
    expect(await ask(server.url + pathOf(digestOf(bytes)))).toMatchObject({ status: 404 });
  });

  test('does not prevent its sender from reading the response', async () => {
    const server = await testServer({ limits });
    const bytes = contentOf('too large', 8 * MIB);
    expect(await ask(server.url + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).toMatchObject({
      status: 413,
    });
  });

  test('is accepted at exactly the limit', async () => {
    const server = await testServer({ limits });
    const bytes = contentOf('just right', MIB);
    expect(await ask(server.url + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).toMatchObject({
      status: 200,
    });
  });
});

describe('Expect: 100-continue', () => {
  test('gets 100 Continue before a body that will be accepted', async () => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(putHead(PATH, 'content-length: 100', 'expect: 100-continue'));
    await connection.until('HTTP/1.1 100 Continue\r\n\r\n');
    connection.send(BYTES);
    await connection.until('HTTP/1.1 200 OK');
  });

  test('gets only the answer in HTTP/1.0, which has no 100 Continue', async () => {
    const connection = await RawConnection.to(await testServer());
    const head = putHead(PATH, 'content-length: 100', 'expect: 100-continue').replace('HTTP/1.1', 'HTTP/1.0');
    connection.send(head);
    connection.send(BYTES);
    expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  test.each([
    ['too large', 413, { limits: { maxBlobBytes: 99 } }],
    ['without a token', 401, { token: 'a token' }],
    ['for a read-only server', 403, { readOnly: true }],
  ])('gets the error instead for a body that is refused: %s', async (_name, status, options) => {
    const server = await testServer(options);
    const connection = await RawConnection.to(server);
    connection.send(putHead(PATH, 'content-length: 100', 'expect: 100-continue'));
    const received = await connection.untilClosed();
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received).not.toContain('100 Continue');
  });
});

test.each([
  ['small', 100],
  ['large', MIB],
])(
  'a body that stops arriving is refused with 408, and the connection is closed: %s',
  async (_name, size) => {
    const server = await testServer({ limits: { ...IMPATIENT, lingerMs: 10 } });
    const connection = await RawConnection.to(server);
    connection.send(putHead(PATH, `content-length: ${size}`));
    connection.send('only this');
    const received = await connection.untilClosed();
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toContain('ASSAY_BODY_TIMEOUT');
  },
);

test.each([
  ['if it is sent a chunk', IMPATIENT],
  ['if it is sent copies', { ...IMPATIENT, maxZeroCopyChunks: 0 }],
])('a client that does not read holds one chunk of memory and is cut off, %s', async (_why, limits) => {
  const size = 1024 * MIB;
  let given = 0;
  let whenLeft = () => {};
  const left = new Promise<void>((resolve) => {
    whenLeft = resolve;
  });
  const chunks = async function* () {
    try {
      while (given < size) {
        given += MIB;
        yield Buffer.alloc(MIB);
      }
    } finally {
      whenLeft();
    }
  };
  const server = await testServer({ limits, store: storeWith({ get: async () => ({ size, chunks }) }) });
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await left;
  expect(given).toBeLessThan(size / 4);
  /** A client that is sent copies has released its chunk before it is cut off. */
  await delay(1000);
  const givenUntilThen = given;
  socket.on('error', () => {}).resume();
  await once(socket, 'close');
  expect(given).toBe(givenUntilThen);
});

test('pipelined requests are processed one after the other', async () => {
  const requests = 100;
  let open = 0;
  let most = 0;
  const chunks = async function* () {
    most = Math.max(most, ++open);
    yield Buffer.alloc(MIB, 'x');
    open--;
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: MIB, chunks }) }) });
  const connection = await RawConnection.to(server);
  const get = `GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n`;
  connection.send(`${`${get}\r\n`.repeat(requests - 1)}${get}connection: close\r\n\r\n`);
  let received = 0;
  connection.socket.removeAllListeners('data').on('data', (piece: Buffer) => {
    received += piece.length;
  });
  await once(connection.socket, 'close');
  expect(received).toBeGreaterThan(requests * MIB);
  expect(most).toBe(1);
});

test('a store that does not accept data applies backpressure to the sender', async () => {
  const pieceBytes = 64 * 1024;
  const pieces = 1024;
  let sent = 0;
  const body = async function* () {
    while (sent < pieces) {
      sent++;
      yield Buffer.alloc(pieceBytes);
    }
  };
  let takeTheRest = () => {};
  const blocked = new Promise<void>((resolve) => {
    takeTheRest = resolve;
  });
  const slow = storeWith({
    async put(_expected, content) {
      if (!(content instanceof Uint8Array)) for await (const _piece of content) await blocked;
      return { ...EMPTY, size: pieces * pieceBytes };
    },
  });
  const server = await testServer({ store: slow });
  const answered = ask(server.url + PATH, 'PUT', { body: Readable.from(body()) });
  for (let before = -1; sent > before || sent === 0; await delay(200)) before = sent;
  expect(sent).toBeLessThan(pieces / 2);
  takeTheRest();
  expect(await answered).toMatchObject({ status: 200 });
  expect(sent).toBe(pieces);
});

describe('a header', () => {
  test('that is too large is refused with 431', async () => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(`GET /status HTTP/1.1\r\nhost: localhost\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`);
    const received = await connection.untilClosed();
    expect(received).toMatch(/^HTTP\/1\.1 431 /);
    expect(received).toContain('ASSAY_HEADER_TOO_LARGE');
  });

  test('that stops arriving is refused with 408', async () => {
    const server = await testServer({ limits: { noProgressMs: 1000, sweepMs: 10 } });
    const connection = await RawConnection.to(server);
    connection.send('GET /status HTTP/1.1\r\nhost');
    const received = await connection.untilClosed();
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toContain('ASSAY_HEADER_TIMEOUT');
  });

  test('that never starts ends the connection', async () => {
    const server = await testServer({ limits: { noProgressMs: 50, sweepMs: 10 } });
    await (await RawConnection.to(server)).untilClosed();
  });
});

test('an idle connection after a request is closed', async () => {
  const server = await testServer({ limits: { keepAliveMs: 50 } });
  const connection = await RawConnection.to(server);
  connection.send('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200 /);
});

describe('a connection beyond the limit', () => {
  const ASK = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';

  test('gets 503 with Retry-After, and the others are served', async () => {
    const server = await testServer({ limits: { maxConnections: 2 } });
    const others = [await RawConnection.to(server), await RawConnection.to(server)];
    const third = await RawConnection.to(server);
    third.send(ASK);
    const refusal = await third.untilClosed();
    expect(refusal).toMatch(/^HTTP\/1\.1 503/);
    expect(refusal).toMatch(/retry-after: 1\r\n/i);
    expect(refusal).toContain('ASSAY_OVERLOADED');
    for (const one of others) {
      one.send(ASK);
      expect(await one.until('"ok"')).toMatch(/^HTTP\/1\.1 200/);
    }
  });

  test('is closed without a response if there are too many of them', async () => {
    const server = await testServer({ limits: { maxConnections: 1, surplusConnections: 1 } });
    await RawConnection.to(server);
    await RawConnection.to(server);
    const third = await RawConnection.to(server);
    expect(await third.untilClosed()).toBe('');
  });
});

test('the request bodies in memory have a common limit', async () => {
  const server = await testServer({ limits: { requestMemoryBytes: 10_000 } });
  const held = await RawConnection.to(server);
  const head = (size: number) =>
    `PUT /ac/${'a'.repeat(64)} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${size}\r\n\r\n`;
  held.send(head(20_000) + 'x'.repeat(9_000));
  const next = await RawConnection.to(server);
  next.send(head(5_000) + 'x'.repeat(5_000));
  expect(await next.until('ASSAY_OVERLOADED')).toMatch(/^HTTP\/1\.1 503/);
  held.socket.destroy();
});

test('a client that pipelines many requests and reads no response is cut off', async () => {
  const server = await testServer({ limits: IMPATIENT });
  const bytes = contentOf('many times', 60_000);
  await server.store.blobs.put(digestOf(bytes), bytes);
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const get = `GET ${pathOf(digestOf(bytes))} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
  let isGone = false;
  socket
    .on('error', () => {})
    .once('close', () => {
      isGone = true;
    });
  for (let requests = 0; !isGone && requests < 1000; requests++) {
    socket.write(get);
    await delay(1);
  }
  socket.resume();
  await expect.poll(() => isGone).toBe(true);
});

test.each([
  ['a small blob', async () => ({ size: 100, bytes: BYTES })],
  ['a large blob', async () => ({ size: 2 * MIB, chunks: oneMebibyteTwice })],
  ['a miss', async () => undefined],
  [
    'a fault',
    async () => {
      throw new Error('a fault');
    },
  ],
])('a client that disconnects before its response does no harm: %s', async (_name, answer) => {
  let leave = () => {};
  const get = async () => {
    leave();
    await delay(100);
    return answer();
  };
  const server = await testServer({ store: storeWith({ get }) });
  const connection = await RawConnection.to(server);
  leave = () => connection.socket.resetAndDestroy();
  connection.send(`GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await connection.untilClosed();
  await delay(200);
  expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
});

async function* oneMebibyteTwice(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(MIB);
  yield Buffer.alloc(MIB);
}

test('the server waits for a store that is slow to finish a large upload', async () => {
  /** Longer than the grace period, which is long enough for a busy machine to send the body. */
  const limits = { ...IMPATIENT, noProgressMs: 1000 };
  const put = async () => {
    await delay(1500);
    return digestOf(BYTES);
  };
  const patient = storeWith({
    async put(_expected, content) {
      if (!(content instanceof Uint8Array)) for await (const _piece of content);
      return put();
    },
  });
  const server = await testServer({ limits, store: patient });
  expect(await ask(server.url + PATH, 'PUT', { body: Buffer.alloc(MIB) })).toMatchObject({ status: 200 });
});

test('the server waits for a store that is slow to answer', async () => {
  const get = async () => {
    await delay(500);
    return { size: 100, bytes: BYTES };
  };
  const server = await testServer({ limits: { noProgressMs: 200, sweepMs: 10 }, store: storeWith({ get }) });
  expect(await ask(server.url + PATH)).toMatchObject({ status: 200, body: BYTES });
});

test('the responses in memory have a common limit', async () => {
  const result = resultWith({ stdoutRaw: contentOf('a long log', MIB) });
  const address = addressOf('an action');
  for (const [responseMemoryBytes, status] of [
    [2 * result.length, 200],
    [result.length - 1, 503],
  ] as const) {
    const server = await testServer({ limits: { responseMemoryBytes } });
    await server.store.results.put(address, result);
    const url = `${server.url}/ac/${address.key}`;
    for (let time = 0; time < 5; time++) {
      expect(await ask(url)).toMatchObject({ status });
      expect(await ask(url, 'HEAD')).toMatchObject({ status: 200 });
    }
  }
});
