// A client sends a new result to an Assay server in one request, and to an older server in several.
import { once } from 'node:events';
import { request as ask, createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ListPathSetsResponse } from '../../../core/proto/generated/assay.ts';
import { Workshop } from '../../rig/assay.ts';
import { testServer } from '../../server/rig.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Passes everything on. `change` gets each list. */
async function proxyTo(target: string, change: (list: ListPathSetsResponse) => ListPathSetsResponse) {
  const asked: string[] = [];
  const proxy = createServer(async (incoming, answer) => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    asked.push(`${method} ${path.split('/')[1]}`);
    const passedOn = ask(`${target}${path}`, { method, headers });
    passedOn.end(await bodyOf(incoming));
    const [got]: IncomingMessage[] = await once(passedOn, 'response');
    if (!got) throw new Error('no response');
    const body = await bodyOf(got);
    const isList = method === 'GET' && path.startsWith('/path-sets') && !path.includes('find=');
    const sent = isList
      ? ListPathSetsResponse.encode(change(ListPathSetsResponse.decode(body))).finish()
      : body;
    answer.writeHead(got.statusCode ?? 500, { 'content-length': sent.length }).end(sent);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
  });
  return { asked, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

const LARGE = 100_000;

async function build(remote: string, store: string) {
  shop.write('in.txt', 'input');
  const script = `mkdir -p out && cp in.txt out/small && head -c ${LARGE} /dev/zero > out/large`;
  const flags = ['--remote', remote, '--store', join(shop.folder, store), '--input', 'in.txt'];
  return (await shop.run([...flags, '--output', 'out', '--', 'sh', '-c', script])).summary;
}

test('all but a large blob goes in one request, and is a hit for others', async () => {
  const server = await testServer();
  const proxy = await proxyTo(server.url, (list) => list);
  expect(await build(proxy.url, 'one')).toMatchObject({ outcome: 'miss', shared: true });
  expect(proxy.asked).toEqual(['GET path-sets', 'HEAD cas', 'PUT cas', 'PUT path-sets']);
  expect(await build(server.url, 'two')).toMatchObject({ outcome: 'hit-remote' });
});

test('an older server gets every part in a request of its own', async () => {
  const server = await testServer();
  const proxy = await proxyTo(server.url, (list) => ({ ...list, takesPublications: false }));
  expect(await build(proxy.url, 'one')).toMatchObject({ outcome: 'miss', shared: true });
  expect(proxy.asked.slice(-2)).toEqual(['PUT ac', 'PUT path-sets']);
  expect(proxy.asked.filter((one) => one === 'PUT cas').length).toBeGreaterThan(3);
  expect(await build(server.url, 'two')).toMatchObject({ outcome: 'hit-remote' });
});

test('an action that got path sets meanwhile is looked at again before it is published', async () => {
  const server = await testServer();
  expect(await build(server.url, 'one')).toMatchObject({ outcome: 'miss', shared: true });
  let lists = 0;
  const proxy = await proxyTo(server.url, (list) => {
    lists++;
    return lists === 1 ? { ...list, sets: [], predicted: '' } : list;
  });
  expect(await build(proxy.url, 'two')).toMatchObject({ outcome: 'miss', shared: true });
  expect(lists).toBe(2);
  expect(proxy.asked.filter((one) => one === 'PUT path-sets')).toHaveLength(2);
});
