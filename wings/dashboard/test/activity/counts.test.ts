// What counts as one lookup, of which tool, and in which namespace.
import { expect, onTestFinished, test } from 'vitest';
import { digestOf, toWire } from '../../../../core/digest.ts';
import { FetchBlobRequest, PushBlobRequest } from '../../../../core/proto/generated/asset.ts';
import { GrpcClient } from '../../../../test/rig/grpc.ts';
import { identity, MAIN, sourceOf } from '../../../../test/server/access/identities.ts';
import { METADATA, metadataOf } from '../../../../test/server/request/metadata.ts';
import { ask } from '../../../../test/server/rig.ts';
import type { Tail } from '../../api/schemas/now.ts';
import type { Runs } from '../../api/schemas/runs.ts';
import type { Setup } from '../../api/schemas/setup.ts';
import { testServer } from '../rig.ts';

const ROOT = identity('root', { namespace: '', rights: 'read-write,server:stats' });

async function served() {
  const server = await testServer({ identities: sourceOf(ROOT, MAIN) });
  async function get<T>(path: string): Promise<T> {
    const answer = await ask(`${server.url}/api/v1/${path}`, 'GET', {
      headers: { authorization: 'Bearer root' },
    });
    return JSON.parse(answer.body.toString());
  }
  const send = (
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    headers: Record<string, string> = {},
    body?: Buffer,
  ) =>
    ask(server.url + path, method, {
      headers: { authorization: 'Bearer root', ...headers },
      ...(body && { body }),
    });
  const rows = async () => {
    const { tools } = await get<Setup>('setup');
    return Object.fromEntries(
      tools.flatMap(({ name, lastRequestAt, lookupsToday }) =>
        lastRequestAt === undefined ? [] : [[name, lookupsToday]],
      ),
    );
  };
  const metric = async (line: string) =>
    (await ask(`${server.url}/metrics`, 'GET', { headers: { authorization: 'Bearer root' } })).body
      .toString()
      .split('\n')
      .find((one) => one.startsWith(line))
      ?.split(' ')
      .at(-1);
  /** As they are stored: a server that stops stores them. */
  async function runs() {
    await server.stop();
    const again = await testServer({ identities: sourceOf(ROOT), store: server.store });
    const answer = await ask(`${again.url}/api/v1/runs`, 'GET', {
      headers: { authorization: 'Bearer root' },
    });
    const { runs: stored }: Runs = JSON.parse(answer.body.toString());
    return stored;
  }
  return { server, get, send, rows, metric, runs };
}

const RUSH_KEY = `/rush/team/${'a'.repeat(40)}`;

test('a miss that Rush asks for three times is one lookup, and the next build’s is another', async () => {
  const { send, rows, metric } = await served();
  const misses = 'assay_lookups_total{kind="rush",outcome="miss"}';
  for (let asked = 0; asked < 3; asked++) expect((await send('GET', RUSH_KEY)).status).toBe(404);
  expect([await rows(), await metric(misses)]).toEqual([{ Rush: 1 }, '1']);
  await send('GET', RUSH_KEY.replace('aa', 'bb'));
  await send('GET', RUSH_KEY);
  expect([await rows(), await metric(misses)]).toEqual([{ Rush: 3 }, '3']);
  await send('PUT', RUSH_KEY, {}, Buffer.from('built'));
  for (let asked = 0; asked < 2; asked++) expect((await send('GET', RUSH_KEY)).status).toBe(200);
  expect(await rows()).toEqual({ Rush: 5 });
});

test('the miss of another token, or of another namespace, is a lookup of its own', async () => {
  const { send, metric } = await served();
  for (const authorization of ['Bearer root', 'Bearer main']) await send('GET', RUSH_KEY, { authorization });
  await send('GET', RUSH_KEY.replace('team', 'other'));
  expect(await metric('assay_lookups_total{kind="rush",outcome="miss"}')).toBe('3');
});

test('Set up counts the lookups of a row: those of its tool over its protocol', async () => {
  const { send, rows, server } = await served();
  const bazel = { [METADATA]: metadataOf('bazel', 'one') };
  for (let asked = 0; asked < 3; asked++) await send('GET', `/team/ac/${'1'.repeat(64)}`, bazel);
  const client = await GrpcClient.to(server.url, { authorization: 'Bearer root', ...bazel });
  onTestFinished(() => client.close());
  await client.call(
    '/build.bazel.remote.execution.v2.ActionCache/GetActionResult',
    Buffer.from([0x12, 0x42, 0x0a, 0x40, ...Buffer.from('2'.repeat(64))]),
  );
  expect(await rows()).toEqual({ 'Bazel, gRPC': 1, 'Bazel, HTTP': 3 });
});

test('BuildStream’s FetchBlob is a lookup that lights its row', async () => {
  const { rows, metric, server, send } = await served();
  const bytes = Buffer.from('an artifact');
  const { hash, size } = digestOf(bytes);
  expect((await send('PUT', `/cas/${hash}`, {}, bytes)).status).toBe(200);
  const client = await GrpcClient.to(server.url, {
    authorization: 'Bearer root',
    'user-agent': 'grpc-c++/1.51',
  });
  onTestFinished(() => client.close());
  const request = (...uris: string[]) =>
    FetchBlobRequest.encode({ ...FetchBlobRequest.decode(new Uint8Array(0)), uris }).finish();
  const fetch = (...uris: string[]) =>
    client.call('/build.bazel.remote.asset.v1.Fetch/FetchBlob', request(...uris));
  const [one, other] = [
    'urn:fdc:buildstream.build:2020:artifact:a',
    'urn:fdc:buildstream.build:2020:artifact:b',
  ];
  await fetch();
  expect(await rows()).toEqual({});
  await fetch(one);
  const pushed = {
    ...PushBlobRequest.decode(new Uint8Array(0)),
    uris: [one],
    blobDigest: toWire({ hash, size }),
  };
  await client.call('/build.bazel.remote.asset.v1.Push/PushBlob', PushBlobRequest.encode(pushed).finish());
  await fetch(other, one);
  expect(await rows()).toEqual({ BuildStream: 2 });
  expect(await metric('assay_lookups_total{kind="asset",outcome="hit"}')).toBe('1');
  expect(await metric('assay_lookups_total{kind="asset",outcome="miss"}')).toBe('1');
});

test('the helper of the go command lights the row of Go, and its build is a run', async () => {
  const { send, rows, runs } = await served();
  await send('GET', `/team/go/ac/${'3'.repeat(64)}`, { 'user-agent': 'gocacheprog/0.2.0' });
  expect(await rows()).toEqual({ Go: 1 });
  expect((await runs()).map(({ tool, misses }) => [tool, misses])).toEqual([['gocacheprog', 1]]);
});

test('a version of GitHub’s cache is no namespace', async () => {
  const { get, send, runs } = await served();
  const call = (token: string, base: string) =>
    send(
      'POST',
      `${base}/twirp/github.actions.results.api.v1.CacheService/GetCacheEntryDownloadURL`,
      { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      Buffer.from(JSON.stringify({ key: 'k', version: 'v' })),
    );
  for (const base of ['', '/actions/team']) await call('root', base);
  await call('main', '/actions/team');
  const { events } = await get<Tail>('tail');
  expect(events.map(({ namespace }) => namespace)).toEqual(['acme/app/main/team', 'team', '']);
  expect((await runs()).map(({ namespace }) => namespace).sort()).toEqual(['', 'acme/app/main/team', 'team']);
});
