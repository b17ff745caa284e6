// What the write log of a server says about requests of every kind: who, where, under which key, how it ended.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { encodePathSet } from '../../../core/path-set.ts';
import type { LogEntry } from '../../../store/log/write-log.ts';
import { GrpcClient } from '../../rig/grpc.ts';
import { contentOf, resultWith } from '../../store/content.ts';
import { ReapiClient } from '../protocols/reapi/rig.ts';
import { ask, testServer } from '../rig.ts';
import { EVERYBODY, MAIN, PULL, READER } from './identities.ts';

const KEY = digestOf(Buffer.from('a key')).hash;

async function loggedServer() {
  const entries: LogEntry[] = [];
  const writeLog = { add: (entry: LogEntry) => void entries.push(entry), close: async () => {} };
  const server = await testServer({ token: 'whole', identities: EVERYBODY, writeLog });
  const send = (who: { name: string }, path: string, body?: Buffer) =>
    ask(server.url + path, 'PUT', {
      headers: { authorization: `Bearer ${who.name}` },
      ...(body && { body }),
    });
  return { server, entries, send };
}

test('each result is logged with its writer, its namespace and how it ended', async () => {
  const { entries, send } = await loggedServer();
  const sent = [
    [MAIN, resultWith({ exitCode: 0 }), 'stored'],
    [PULL, resultWith({ exitCode: 1 }), 'stored'],
    [MAIN, resultWith({ exitCode: 0 }), 'unchanged'],
    [MAIN, resultWith({ exitCode: 2 }), 'diverged'],
  ] as const;
  for (const [who, body] of sent) expect(await send(who, `/ac/${KEY}`, body)).toMatchObject({ status: 200 });
  expect(entries).toEqual(
    sent.map(([{ name, namespace }, body, outcome]) => ({
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      what: 'result',
      identity: name,
      from: '127.0.0.1',
      protocol: 'ac',
      namespace,
      key: KEY,
      outcome,
      result: digestOf(body).hash,
    })),
  );
});

test('each path set that is added is logged, once', async () => {
  const { entries, send } = await loggedServer();
  const path = { names: false, state: 'file 0', left: '', without: [], lens: '', shown: [], note: '' };
  const set = Buffer.from(encodePathSet([{ root: 'workspace', path: 'src/a', ...path }]));
  const { hash } = digestOf(set);
  await send(PULL, `/cas/${hash}`, set);
  for (const who of [PULL, PULL, READER]) await send(who, `/path-sets/v1/team/${KEY}?set=${hash}`);
  expect(entries).toEqual([
    {
      at: expect.any(String),
      what: 'path-set',
      identity: 'pull',
      from: '127.0.0.1',
      protocol: 'path-sets',
      namespace: '~path-sets/acme/app/pr/1/=/team',
      key: KEY,
      set: hash,
    },
  ]);
});

test('gRPC, other protocols, replaced content and labels are logged', async () => {
  const { server, entries, send } = await loggedServer();
  const grpc = await GrpcClient.to(server.url, { authorization: 'Bearer pull' });
  await new ReapiClient(grpc).updateResult({ hash: KEY, size: 1 }, resultWith({}));
  grpc.close();
  await send(MAIN, '/ccache/75/9bfs0123456789abcdefghijklmnopqr', contentOf('first', 10));
  await send(MAIN, '/ccache/75/9bfs0123456789abcdefghijklmnopqr', contentOf('second', 10));
  await send(MAIN, `/ac/${KEY}`, resultWith({}));
  await send(MAIN, `/labels/v1/?label=deps-1&key=${KEY}`);
  await send(READER, `/ac/${KEY}`, resultWith({}));
  const brief = entries.map(({ what, identity, protocol, namespace, outcome }) =>
    [what, identity, protocol, namespace, outcome].join(' '),
  );
  expect(brief).toEqual([
    'result pull ActionCache.UpdateActionResult acme/app/pr/1 stored',
    'result main ccache ~ccache/acme/app/main stored',
    'result main ccache ~ccache/acme/app/main replaced',
    'result main ac acme/app/main stored',
    'label main labels acme/app/main stored',
  ]);
  expect(entries.at(-1)).toMatchObject({ label: 'deps-1', key: KEY });
  const metrics = await ask(`${server.url}/metrics`, 'GET', { headers: { authorization: 'Bearer whole' } });
  expect(metrics.body.toString()).toContain('assay_store_events_total{event="replaced"} 1');
});
