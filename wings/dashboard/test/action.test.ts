// /api/v1/actions/KEY: the result of an action is found in the namespace of its runs, and nowhere that the reader
// may not read.
import { expect, test } from 'vitest';
import { digestOf, type Hash, toWire } from '../../../core/digest.ts';
import { Action, Command } from '../../../core/proto/generated/reapi.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { identity, MAIN, OTHER, sourceOf } from '../../../test/server/access/identities.ts';
import { ask, type TestServer } from '../../../test/server/rig.ts';
import { resultWith } from '../../../test/store/content.ts';
import type { Action as ShownAction } from '../api/schemas/action.ts';
import { miss, reportOf } from './reports.ts';
import { testServer } from './rig.ts';

const ROOT = identity('root', { namespace: '', rights: 'read-write' });
/** Of the same tenant, so it can read the blobs of the action. */
const NEXT = identity('next', { namespace: 'acme/next' });
const NOTHING = new Uint8Array(0);

const as = ({ name }: Identity) => ({ authorization: `Bearer ${name}` });

async function put({ url }: TestServer, who: Identity, path: string, content: Uint8Array): Promise<void> {
  const { status } = await ask(`${url}${path}`, 'PUT', { body: Buffer.from(content), headers: as(who) });
  expect([path, status]).toEqual([path, 200]);
}

/** With its result in a namespace below the one of its token, as `assay run --remote URL/web` writes it. */
async function built(server: TestServer, who: Identity, name: string): Promise<Hash> {
  const blob = async (content: Uint8Array) => {
    const digest = digestOf(Buffer.from(content));
    await put(server, who, `/cas/${digest.hash}`, content);
    return toWire(digest);
  };
  const command = Command.encode({ ...Command.decode(NOTHING), arguments: ['make', name] }).finish();
  const commandDigest = await blob(command);
  const inputRootDigest = await blob(NOTHING);
  const { hash } = await blob(
    Action.encode({ ...Action.decode(NOTHING), commandDigest, inputRootDigest }).finish(),
  );
  await put(server, who, `/web/ac/${hash}`, resultWith({ exitCode: 0 }));
  return hash as Hash;
}

async function report({ url }: TestServer, who: Identity, key: Hash): Promise<void> {
  const body = Buffer.from(JSON.stringify(reportOf([{ ...miss('build', { kind: 'first-run' }, 5), key }])));
  const answer = await ask(`${url}/api/v1/runs?namespace=web`, 'POST', { body, headers: as(who) });
  expect(answer.status).toBe(201);
}

async function shown({ url }: TestServer, who: Identity, key: Hash, query = ''): Promise<ShownAction> {
  const answer = await ask(`${url}/api/v1/actions/${key}${query}`, 'GET', { headers: as(who) });
  expect(answer.status).toBe(200);
  return JSON.parse(answer.body.toString());
}

test('a reader of the whole server, and of the namespace, sees the result where the runs are', async () => {
  const server = await testServer({ identities: sourceOf(ROOT, MAIN) });
  const key = await built(server, MAIN, 'all');
  expect((await shown(server, ROOT, key)).result).toBeUndefined();
  await report(server, MAIN, key);
  for (const reader of [ROOT, MAIN])
    expect(await shown(server, reader, key)).toMatchObject({
      namespace: 'acme/app/main/web',
      result: { exitCode: 0, writer: { name: 'main' } },
      runs: [{ step: 'build', outcome: 'miss' }],
    });
});

test('a reader names the namespace as a run shows it', async () => {
  const server = await testServer({ identities: sourceOf(ROOT, MAIN) });
  const key = await built(server, MAIN, 'named');
  for (const reader of [ROOT, MAIN]) {
    const named = await shown(server, reader, key, '?namespace=acme/app/main/web');
    expect(named).toMatchObject({ namespace: 'acme/app/main/web', result: { writer: { name: 'main' } } });
    expect((await shown(server, reader, key, '?namespace=acme/app/other')).result).toBeUndefined();
  }
});

test('a reader of another namespace sees no result and no run', async () => {
  const server = await testServer({ identities: sourceOf(MAIN, NEXT, OTHER) });
  const key = await built(server, MAIN, 'secret');
  await report(server, MAIN, key);
  const seen = await shown(server, NEXT, key, '?namespace=acme/app/main/web');
  expect([seen.result, seen.runs, seen.others]).toEqual([undefined, [], []]);
  expect((await shown(server, NEXT, key)).result).toBeUndefined();
  const other = await ask(`${server.url}/api/v1/actions/${key}`, 'GET', { headers: as(OTHER) });
  expect(other.status).toBe(404);
});
