// Concurrent gRPC calls on one connection do not disturb each other.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { GRPC_REMOTE, REMOTE } from '../../../client/limits.ts';
import { Channel } from '../../../client/remote/grpc/channel.ts';
import { frame } from '../../../core/grpc/frame.ts';

/** Reads nothing that is sent to `slow`, and answers every other call at once. */
async function startServer(): Promise<URL> {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer().on('session', (session) => sessions.add(session));
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'] === '/slow') return;
    stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(frame(Buffer.from('answer')));
  });
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return new URL(`grpc://127.0.0.1:${port}`);
}

test('a response is received while the maximum number of batches wait to be sent', async () => {
  const url = await startServer();
  const end = new AbortController();
  const channel = new Channel({ url, headers: {}, signal: end.signal, moved: () => {} });
  const batch = Buffer.alloc(GRPC_REMOTE.batchBytes);
  const waiting = Array.from({ length: REMOTE.concurrency }, () => channel.unary('slow', batch));
  const outcomes = Promise.allSettled(waiting);
  expect(String(await channel.unary('quick', Buffer.from('question')))).toBe('answer');
  end.abort();
  await outcomes;
});
