// Bundles from and to a server: what a token takes out, where what it sends goes, and who takes it back.
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { addPathSet } from '../../../client/path-sets/path-sets.ts';
import { localPathSets } from '../../../client/path-sets/storage.ts';
import { parseRemoteUrl } from '../../../client/remote/url.ts';
import { encodeAction } from '../../../core/action.ts';
import { digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { encodeReceipt } from '../../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../core/namespace.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import { type ObservedPath, recordedState, resultKey } from '../../../core/path-set.ts';
import { encodeDirectories } from '../../../core/tree.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { forget } from '../../../store/review/forget.ts';
import type { Store } from '../../../store/store.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { identity, MAIN, OTHER, READER, sourceOf, WRITER } from '../../../test/server/access/identities.ts';
import { ask, testServer } from '../../../test/server/rig.ts';
import {
  addressOf,
  contentOf,
  outputFile,
  putOne,
  resultNaming,
  resultWith,
} from '../../../test/store/content.ts';
import { collectBundle } from '../export/collect.ts';
import { exportBundle } from '../export/export.ts';
import type { WantedResult } from '../export/wanted.ts';
import { streamSource } from '../format/source.ts';
import { importBundle } from '../import/import.ts';
import { RECORDS_PATH } from '../records-request.ts';
import { RemoteKinds, remoteDestination } from '../remote-destination.ts';
import { serverRecords } from '../remote-records.ts';
import { bundlesApi } from '../server.ts';
import { exported, MADE, memorySink } from './rig/bundles.ts';

const CHECKPOINT = parseNamespace('checkpoint');
const ELSEWHERE = identity('elsewhere', { namespace: 'acme/new', rights: 'read-write' });
const everything: WantedResult = { keys: [], labels: [] };

const served = () =>
  testServer({
    identities: sourceOf(MAIN, OTHER, READER, WRITER, ELSEWHERE),
    wings: [{ routes: bundlesApi }],
  });

/** Stores the messages of an action with a folder in a folder. Returns its key. */
async function putAction(store: Store): Promise<Hash> {
  const path = parseRelPath('in/deeper/file');
  const file = { path, kind: 'file', digest: digestOf(contentOf('input', 5)), executable: false } as const;
  const { root, blobs } = encodeDirectories([file]);
  const { key, action, command } = encodeAction({
    ...{ arguments: ['make'], workingDirectory: ROOT, environment: [], outputs: [], platform: [] },
    inputRoot: root,
  });
  for (const message of [...blobs.values(), command, action]) await putOne(store, Buffer.from(message));
  return key.hash;
}

/** A local store with the messages of an action, its result behind a path set, and its checkpoint. */
async function filled(): Promise<{ readonly store: Store; readonly action: Hash }> {
  const store = openMemoryStore();
  const own = await putOne(store, contentOf('own', 100_000));
  const action = await putAction(store);
  const fact: ObservedPath = {
    ...{ root: 'workspace', path: 'read', names: false, state: 'absent', left: '' },
    ...{ without: [], lens: '', shown: [], note: '' },
  };
  await addPathSet(action, [fact], localPathSets(store), recordedState);
  const executionMetadata = { worker: '', auxiliaryMetadata: [encodeReceipt(action)] };
  const message = resultWith({ outputFiles: [outputFile('out', own)], executionMetadata });
  const { hash: key } = resultKey(action, [fact], recordedState);
  await store.results.put({ namespace: DEFAULT_NAMESPACE, key }, message);
  await store.results.put(addressOf('checkpoint', CHECKPOINT), resultNaming(own));
  await store.labels.put(
    { namespace: CHECKPOINT, label: `${action}/1` },
    addressOf('checkpoint', CHECKPOINT).key,
  );
  return { store, action };
}

function placeOf(url: string, who: Identity) {
  return { url: parseRemoteUrl(url), token: who.name };
}

async function send(bundle: Buffer, url: string, who: Identity) {
  const store = openMemoryStore();
  return importBundle({
    ...{ store, trusted: [], maxBytes: Number.POSITIVE_INFINITY, onProgress() {} },
    source: streamSource(piecesOf(bundle)),
    destination: (manifest) =>
      remoteDestination(new RemoteKinds(placeOf(url, who), manifest.bundle), manifest, store, () => {}),
  });
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function taken(url: string, who: Identity, wanted = everything) {
  const store = openMemoryStore();
  const place = placeOf(url, who);
  const kinds = new RemoteKinds(place);
  const records = await serverRecords(place, wanted, kinds, store);
  const collected = await collectBundle({
    ...{ records, blobs: store.blobs, made: MADE },
    isPrivate: () => false,
    onResult() {},
  });
  const sink = memorySink();
  await exportBundle({ collected, blobs: store.blobs, sink, onContent() {} });
  const { results, sets, labels } = collected;
  await kinds.close();
  return { counts: { results, sets, labels }, bundle: sink.whole() };
}

async function codeOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => 'nothing failed',
    (error) => (error instanceof AssayError ? error.code : String(error)),
  );
}

const ALL = { results: 2, sets: 1, labels: 1 };

test('a bundle goes to the namespace of the token, and comes out of it as it went in', async () => {
  const server = await served();
  const { store, action } = await filled();
  const bundle = await exported(store);
  const sent = await send(bundle, server.url, MAIN);
  expect([sent.stored, sent.labels, sent.refused]).toEqual([2, 1, 0]);
  const back = await taken(server.url, MAIN);
  expect(back.counts).toEqual(ALL);
  /* With the messages of the action, too. */
  expect(back.bundle.equals(bundle)).toBe(true);
  const moved = await send(back.bundle, server.url, ELSEWHERE);
  expect([moved.stored, moved.labels]).toEqual([2, 1]);
  expect((await taken(server.url, ELSEWHERE)).bundle.equals(bundle)).toBe(true);
  expect((await taken(server.url, MAIN, { keys: [action], labels: [] })).counts).toEqual(ALL);
  const other = { keys: [addressOf('none').key], labels: [] };
  expect((await taken(server.url, MAIN, other)).counts).toEqual({ results: 0, sets: 0, labels: 0 });
});

test('a token takes nothing out of another namespace, and nothing at all without the right to read', async () => {
  const server = await served();
  await send(await exported((await filled()).store), server.url, MAIN);
  expect((await taken(server.url, OTHER)).counts).toEqual({ results: 0, sets: 0, labels: 0 });
  expect(await codeOf(taken(server.url, WRITER))).toBe('ASSAY_NO_ANSWER');
  expect((await ask(server.url + RECORDS_PATH, 'POST', { body: Buffer.from('{}') })).status).toBe(401);
  for (const body of [{ namespace: '../acme' }, { keys: ['x'] }, { since: 'yesterday' }, { other: 1 }]) {
    const headers = { authorization: `Bearer ${MAIN.name}` };
    const answer = await ask(server.url + RECORDS_PATH, 'POST', {
      body: Buffer.from(JSON.stringify(body)),
      headers,
    });
    expect(answer.status, JSON.stringify(body)).toBe(400);
  }
  const asked = Buffer.from(JSON.stringify({ namespace: 'acme/app' }));
  const headers = { authorization: `Bearer ${OTHER.name}` };
  const below = await ask(server.url + RECORDS_PATH, 'POST', { body: asked, headers });
  expect(below.body.toString().trim().split('\n')).toHaveLength(1);
});

test('a token that may not write sends nothing, and an import says so', async () => {
  const server = await served();
  const bundle = await exported((await filled()).store);
  expect(await codeOf(send(bundle, server.url, READER))).toMatch(/^ASSAY_(?:FORBIDDEN|NO_ANSWER)$/);
});

test('what a server took from a bundle is forgotten by its digest, and what it had before stays', async () => {
  const server = await served();
  const { store, action } = await filled();
  const first = await exported(store, { wanted: { labels: [action] } });
  await send(first, server.url, MAIN);
  const { privateKey } = generateKeyPairSync('ed25519');
  const { manifest } = await send(await exported(store, { key: privateKey }), server.url, MAIN);
  const { review } = server.store;
  if (!review) throw new Error('no review');
  const selection = { bundle: manifest.bundle };
  expect((await forget(review, { selection, remove: true, listed: 0 })).removed).toBe(1);
  expect((await taken(server.url, MAIN)).counts).toMatchObject({ results: 1, labels: 1 });
});
