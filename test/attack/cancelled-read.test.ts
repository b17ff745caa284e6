// A Read call that is cancelled while the kernel still sends its bytes.
// The server does not reuse the buffer before the bytes are sent, however slow the client is.
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { frame } from '../../core/grpc/frame.ts';
import { ReadRequest } from '../../core/proto/generated/bytestream.ts';
import { Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

const MIB = 1024 * 1024;
/** More than the socket buffers of both ends hold. */
const CANCELLED = Buffer.alloc(48 * MIB, 'a');
const OTHERS = Buffer.alloc(8 * MIB, 'b');
const WINDOW = 2 ** 31 - 1;

let shop: Workshop;
let server: ServerProcess;
beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(shop.store);
});
afterEach(async () => {
  await server.stop();
  shop.remove();
});

const addressOf = (bytes: Buffer) => `${server.url}/cas/${digestOf(bytes).hash}`;

/** A proxy between client and server. After the first MiB it stops reading from the server until resumed. */
async function lazyProxy(): Promise<{ url: string; upstream: () => Socket; received: Buffer[] }> {
  const received: Buffer[] = [];
  let upstream: Socket | undefined;
  const proxy = createServer((client) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    upstream = socket;
    client.pipe(socket);
    let passed = 0;
    socket.on('data', (piece: Buffer) => {
      received.push(piece);
      passed += piece.length;
      if (passed < MIB) client.write(piece);
      else if (passed - piece.length < MIB) socket.pause();
    });
    for (const one of [client, socket]) one.on('error', () => {});
    socket.on('close', () => proxy.close());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    upstream: () => upstream ?? expect.fail('nobody came'),
    received,
  };
}

test('after a cancelled Read, its connection never receives bytes of another request', async () => {
  for (const bytes of [CANCELLED, OTHERS]) {
    expect((await fetch(addressOf(bytes), { method: 'PUT', body: new Uint8Array(bytes) })).status).toBe(200);
  }
  const { url, upstream, received } = await lazyProxy();
  const session = connectHttp2(url, { settings: { initialWindowSize: WINDOW } });
  session.on('error', () => {});
  await once(session, 'connect');
  session.setLocalWindowSize(WINDOW);
  const read = session.request({
    ':method': 'POST',
    ':path': '/google.bytestream.ByteStream/Read',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  read.on('error', () => {}).resume();
  const resourceName = `blobs/${digestOf(CANCELLED).hash}/${CANCELLED.length}`;
  read.end(frame(ReadRequest.encode({ resourceName, readOffset: 0, readLimit: 0 }).finish()));
  await expect.poll(() => upstream().isPaused()).toBe(true);
  await wait(500);
  read.close(constants.NGHTTP2_CANCEL);
  await wait(200);
  for (let round = 0; round < 10; round++) {
    const others = await Promise.all(
      Array.from({ length: 8 }, async () =>
        Buffer.from(await (await fetch(addressOf(OTHERS))).arrayBuffer()),
      ),
    );
    expect(others.every((bytes) => bytes.equals(OTHERS))).toBe(true);
  }
  const before = received.length;
  upstream().resume();
  await expect.poll(() => received.length).toBeGreaterThan(before);
  await wait(1000);
  session.destroy();
  upstream().destroy();
  expect(Buffer.concat(received).includes('b'.repeat(100))).toBe(false);
});
