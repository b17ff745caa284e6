// The sniffer decides on a protocol only after its whole prefix has arrived.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { AwakeClock } from '../../../server/capacity/awake-clock.ts';
import { ProtocolSniffer, type WireProtocol } from '../../../server/connection/protocol-sniffer.ts';
import { SERVER } from '../../../server/limits.ts';

const GREETING = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

test.each([
  ['HTTP/1', 'GET / HTTP/1.1\r\nhost: localhost\r\n\r', '\n'],
  ['HTTP/2', GREETING.slice(0, -1), GREETING.slice(-1)],
])('%s is detected only with its last byte', async (expected, all, last) => {
  const decided: WireProtocol[] = [];
  const { client, server } = await connected();
  new ProtocolSniffer(SERVER, new AwakeClock(SERVER)).await(server, (protocol) => decided.push(protocol));
  client.write(all);
  await wait(100);
  expect(decided).toEqual([]);
  client.write(last);
  await expect.poll(() => decided).toEqual([expected]);
  expect(server.read().toString('latin1')).toBe(all + last);
});

async function connected(): Promise<{ client: Socket; server: Socket }> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const client = connect((listening.address() as AddressInfo).port, '127.0.0.1');
  const [server]: Socket[] = await once(listening, 'connection');
  if (!server) throw new Error('nobody came');
  onTestFinished(() => {
    client.destroy();
    server.destroy();
    listening.close();
  });
  return { client, server };
}
