// The server waits a minute, the usual limit, for a client that pauses (garbage collection, a loaded
// machine), and less under pressure. Time in which the server itself was blocked never counts against a
// client.
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { frame } from '../../../core/grpc/frame.ts';
import { ReadRequest, ReadResponse } from '../../../core/proto/generated/bytestream.ts';
import { Capacity } from '../../../server/capacity/capacity.ts';
import { SERVER } from '../../../server/limits.ts';
import { GrpcClient } from '../../rig/grpc.ts';
import { noise } from '../../rig/random.ts';
import { TestClock } from '../capacity/test-clock.ts';
import { PATHS, readName, uploadName, writeRequest } from '../protocols/reapi/rig.ts';
import { largeBlob, pathOf, putHead, RawConnection, storeWith, type TestServer, testServer } from '../rig.ts';

const MIB = 1024 * 1024;
const BYTES = noise(4711, 2 * MIB);
const DIGEST = digestOf(BYTES);
/** Larger than the socket buffers. */
const VAST = { hash: DIGEST.hash, size: 64 * MIB };
const GREETING = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/** A client in the middle of a transfer. */
interface Paused {
  /** Resolves when the transfer is complete, and rejects when it is cut off. */
  goOn(): Promise<void>;
}

type Pausing = (server: TestServer) => Promise<Paused>;

const pausing: Readonly<Record<string, Pausing>> = {
  async 'between two bytes of a header'(server) {
    const connection = await RawConnection.to(server);
    connection.send('GET /healthz HT');
    return {
      async goOn() {
        connection.send('TP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
        expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200/);
      },
    };
  },
  async 'in a small upload'(server) {
    const connection = await RawConnection.to(server);
    const small = BYTES.subarray(0, 1000);
    connection.send(putHead(pathOf(digestOf(small)), 'content-length: 1000', 'connection: close'));
    connection.send(small.subarray(0, 100));
    return {
      async goOn() {
        connection.send(small.subarray(100));
        expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200/);
      },
    };
  },
  async 'in a large upload'(server) {
    const connection = await RawConnection.to(server);
    connection.send(putHead(pathOf(DIGEST), `content-length: ${DIGEST.size}`, 'connection: close'));
    connection.send(BYTES.subarray(0, MIB));
    return {
      async goOn() {
        connection.send(BYTES.subarray(MIB));
        expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200/);
      },
    };
  },
  async 'in a download'(server) {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    socket.write(`GET ${pathOf(VAST)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    return {
      async goOn() {
        let received = 0;
        socket.on('data', (piece) => {
          received += piece.length;
        });
        if (!socket.closed) await once(socket, 'close');
        expect(received).toBeGreaterThan(VAST.size);
      },
    };
  },
  async 'before the first call of an HTTP/2 connection'(server) {
    const connection = await RawConnection.to(server);
    connection.send(GREETING);
    await connection.untilLength(9);
    return {
      async goOn() {
        const before = connection.received.length;
        connection.send(Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]));
        await connection.untilLength(before + 17);
      },
    };
  },
  async 'in a call that it sends'(server) {
    const call = (await grpcTo(server)).open(PATHS.write);
    const first = { resourceName: uploadName(DIGEST), writeOffset: 0, finishWrite: false };
    await call.send(writeRequest({ ...first, data: BYTES.subarray(0, MIB) }));
    return {
      async goOn() {
        const rest = { resourceName: '', writeOffset: MIB, finishWrite: true, data: BYTES.subarray(MIB) };
        await call.send(writeRequest(rest));
        call.end();
        expect(await call.answer()).toMatchObject({ status: 'OK' });
      },
    };
  },
  async 'in a call that it reads'(server) {
    const call = (await grpcTo(server, 64 * 1024)).open(PATHS.read);
    const request = { resourceName: readName(VAST), readOffset: 0, readLimit: 0 };
    call.stream.end(frame(ReadRequest.encode(request).finish()));
    call.stream.pause();
    return {
      async goOn() {
        call.stream.resume();
        const { status, messages } = await call.answer();
        expect(status).toBe('OK');
        const received = messages.map((message) => ReadResponse.decode(message).data.length);
        expect(received.reduce((sum, length) => sum + length, 0)).toBe(VAST.size);
      },
    };
  },
};

async function grpcTo({ url }: TestServer, windowBytes = MIB): Promise<GrpcClient> {
  const client = await GrpcClient.to(url, {}, { settings: { initialWindowSize: windowBytes } });
  onTestFinished(() => client.close());
  return client;
}

/** Accepts every put, and has one blob that is larger than any buffer. */
function vastStore() {
  const chunks = async function* (offset = 0) {
    for (let at = offset; at < VAST.size; at += MIB) yield BYTES.subarray(0, MIB);
  };
  return storeWith({ get: async () => largeBlob(VAST.size, chunks) });
}

describe.each(Object.entries(pausing))('a client that pauses %s', (_where, begin) => {
  const limits = { sweepMs: 10, lingerMs: 10 };

  test('for half a minute is served', async () => {
    const clock = new TestClock();
    const paused = await begin(await testServer({ clock, limits, store: vastStore() }));
    for (let second = 0; second < 30; second += 5) await clock.pass(5);
    await paused.goOn();
  });

  test('for more than a minute is cut off', async () => {
    const clock = new TestClock();
    const server = await testServer({ clock, limits, store: vastStore() });
    const paused = await begin(server);
    await clock.passOften(61);
    await expect(paused.goOn()).rejects.toThrow();
  });

  test('for half a minute is cut off if the server is under pressure', async () => {
    const clock = new TestClock();
    const server = await testServer({
      clock,
      limits: { ...limits, pressureConnections: 0 },
      store: vastStore(),
    });
    const paused = await begin(server);
    await clock.passOften(30);
    await expect(paused.goOn()).rejects.toThrow();
  });
});

test('a server that was suspended cuts off no client for that time', async () => {
  const server = await testServer({ limits: { noProgressMs: 500, sweepMs: 20 } });
  const connection = await RawConnection.to(server);
  connection.send(putHead(pathOf(DIGEST), `content-length: ${DIGEST.size}`, 'connection: close'));
  connection.send(BYTES.subarray(0, MIB));
  await delay(100);
  const until = performance.now() + 1000;
  while (performance.now() < until);
  connection.send(BYTES.subarray(MIB));
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 200/);
});

describe('the server is under pressure', () => {
  const limits = {
    ...SERVER,
    maxConnections: 10,
    requestMemoryBytes: 100,
    responseMemoryBytes: 100,
    maxBodies: 1,
  };

  test('with more than 80 % of the connections', () => {
    const capacity = new Capacity(limits, 1024);
    for (let count = 0; count < 8; count++) capacity.addConnection(new Socket());
    expect(capacity.isUnderPressure).toBe(false);
    capacity.addConnection(new Socket());
    expect(capacity.isUnderPressure).toBe(true);
  });

  test('with more than half of the request or response memory in use', () => {
    const capacity = new Capacity(limits, 1024);
    capacity.addRequestBytes(50);
    capacity.addResponseBytes(50);
    expect(capacity.isUnderPressure).toBe(false);
    capacity.addRequestBytes(1);
    expect(capacity.isUnderPressure).toBe(true);
    capacity.removeRequestBytes(1);
    capacity.addResponseBytes(1);
    expect(capacity.isUnderPressure).toBe(true);
    capacity.removeResponseBytes(1);
    expect(capacity.isUnderPressure).toBe(false);
  });

  test('while a body waits for a slot', async () => {
    const capacity = new Capacity(limits, 1024);
    await capacity.bodies.acquire();
    expect(capacity.isUnderPressure).toBe(false);
    const waiting = capacity.bodies.acquire();
    expect(capacity.isUnderPressure).toBe(true);
    capacity.bodies.release();
    await waiting;
    expect(capacity.isUnderPressure).toBe(false);
  });
});

test('the time limits are the usual ones', () => {
  expect(SERVER).toMatchObject({ noProgressMs: 60_000, keepAliveMs: 75_000, queueTimeoutMs: 60_000 });
});
