// Remote Asset as BuildStream uses it: names for blobs and complete folders.
import { expect, test } from 'vitest';
import { type Digest, digestOf, EMPTY, toWire } from '../../../../core/digest.ts';
import {
  FetchBlobRequest,
  FetchBlobResponse,
  FetchDirectoryRequest,
  FetchDirectoryResponse,
  PushBlobRequest,
  PushDirectoryRequest,
} from '../../../../core/proto/generated/asset.ts';
import type { GrpcAnswer } from '../../../rig/grpc.ts';
import { contentOf, directoryOf } from '../../../store/content.ts';
import { only, type ReapiClient, reapiServer } from '../reapi/rig.ts';

const ASSET = '/build.bazel.remote.asset.v1';
const URI = 'urn:fdc:buildstream.build:2020:artifact:project/element/0123';
const NOTHING = new Uint8Array(0);

function fetchBlob(client: ReapiClient, more: Partial<FetchBlobRequest>): Promise<GrpcAnswer> {
  const request = FetchBlobRequest.encode({
    ...FetchBlobRequest.decode(NOTHING),
    uris: [URI],
    ...more,
  }).finish();
  return client.grpc.call(`${ASSET}.Fetch/FetchBlob`, request);
}

function pushBlob(
  client: ReapiClient,
  blob: Digest,
  more: Partial<PushBlobRequest> = {},
): Promise<GrpcAnswer> {
  const blobDigest = toWire(blob);
  const request = { ...PushBlobRequest.decode(NOTHING), uris: [URI], blobDigest, ...more };
  return client.grpc.call(`${ASSET}.Push/PushBlob`, PushBlobRequest.encode(request).finish());
}

test('a probe without URIs is INVALID_ARGUMENT, a miss NOT_FOUND', async () => {
  const { client } = await reapiServer();
  expect(await fetchBlob(client, { uris: [] })).toMatchObject({ status: 'INVALID_ARGUMENT' });
  expect(await pushBlob(client, EMPTY, { uris: [] })).toMatchObject({ status: 'INVALID_ARGUMENT' });
  expect(await fetchBlob(client, {})).toMatchObject({ status: 'NOT_FOUND' });
});

test('a blob is found by each of its URIs, with qualifiers in any order, in its instance only', async () => {
  const { client } = await reapiServer();
  const [blob = EMPTY] = await client.put(contentOf('an artifact', 100));
  const qualifiers = [
    { name: 'vcs.branch', value: 'main' },
    { name: 'resource_type', value: 'application/x-git' },
  ];
  const pushed = { uris: ['urn:first', 'urn:second'], qualifiers, instanceName: 'some/project' };
  expect(await pushBlob(client, blob, pushed)).toMatchObject({ status: 'OK' });
  const asked = {
    uris: ['urn:unknown', 'urn:second'],
    qualifiers: qualifiers.toReversed(),
    instanceName: 'some/project',
  };
  expect(only(FetchBlobResponse, await fetchBlob(client, asked))).toMatchObject({
    uri: 'urn:second',
    blobDigest: toWire(blob),
    qualifiers: asked.qualifiers,
    status: { code: 0 },
  });
  for (const other of [{ qualifiers: [] }, { instanceName: '' }, { uris: ['urn:third'] }]) {
    expect(await fetchBlob(client, { ...asked, ...other })).toMatchObject({ status: 'NOT_FOUND' });
  }
});

test('a name can be pushed again for another blob', async () => {
  const { client } = await reapiServer();
  const [first = EMPTY, second = EMPTY] = await client.put(contentOf('first', 10), contentOf('second', 10));
  await pushBlob(client, first);
  await pushBlob(client, second);
  expect(only(FetchBlobResponse, await fetchBlob(client, {})).blobDigest).toMatchObject(toWire(second));
});

test('a name for an incomplete blob or folder is refused', async () => {
  const { client } = await reapiServer();
  const [blob = EMPTY] = await client.put(contentOf('a blob', 10));
  const gone = digestOf(contentOf('gone', 10));
  const folder = directoryOf([gone]);
  await client.put(folder);
  for (const more of [
    { blobDigest: toWire(gone) },
    { referencesBlobs: [toWire(gone)] },
    { referencesDirectories: [toWire(digestOf(folder))] },
  ]) {
    expect(await pushBlob(client, blob, more)).toMatchObject({ status: 'FAILED_PRECONDITION' });
  }
  expect(await fetchBlob(client, {})).toMatchObject({ status: 'NOT_FOUND' });
});

test('a folder is found by FetchDirectory', async () => {
  const { client } = await reapiServer();
  const file = contentOf('a file', 10);
  const folder = directoryOf([digestOf(file)]);
  const root = directoryOf([], [digestOf(folder)]);
  await client.put(file, folder, root);
  const rootDirectoryDigest = toWire(digestOf(root));
  const push = { ...PushDirectoryRequest.decode(NOTHING), uris: [URI], rootDirectoryDigest };
  const path = `${ASSET}.Push/PushDirectory`;
  expect(await client.grpc.call(path, PushDirectoryRequest.encode(push).finish())).toMatchObject({
    status: 'OK',
  });
  const fetch = FetchDirectoryRequest.encode({
    ...FetchDirectoryRequest.decode(NOTHING),
    uris: [URI],
  }).finish();
  const found = only(FetchDirectoryResponse, await client.grpc.call(`${ASSET}.Fetch/FetchDirectory`, fetch));
  expect(found.rootDirectoryDigest).toMatchObject(rootDirectoryDigest);
  expect(await fetchBlob(client, {})).toMatchObject({ status: 'NOT_FOUND' });
});

test('a name expires, and is a miss if it is older than the client accepts', async () => {
  const { client } = await reapiServer();
  const [blob = EMPTY] = await client.put(contentOf('a blob', 10));
  const at = (offset: number) => ({ seconds: Math.floor(Date.now() / 1000) + offset, nanos: 0 });
  await pushBlob(client, blob, { expireAt: at(3600) });
  expect(only(FetchBlobResponse, await fetchBlob(client, {})).expiresAt?.seconds).toBeGreaterThan(
    at(3000).seconds,
  );
  expect(await fetchBlob(client, { oldestContentAccepted: at(-60) })).toMatchObject({ status: 'OK' });
  expect(await fetchBlob(client, { oldestContentAccepted: at(60) })).toMatchObject({ status: 'NOT_FOUND' });
  await pushBlob(client, blob, { expireAt: at(-1) });
  expect(await fetchBlob(client, {})).toMatchObject({ status: 'NOT_FOUND' });
});

test('an invalid UTF-8 name is refused: decoded, all such names would be equal', async () => {
  const { client } = await reapiServer();
  const [blob = EMPTY] = await client.put(contentOf('an artifact', 100));
  const qualifier = (value: string) => ({ uris: [URI], qualifiers: [{ name: 'x', value }] });
  for (const named of [{ uris: ['urn:\ufffd'] }, qualifier('\ufffd')]) {
    expect(await pushBlob(client, blob, named)).toMatchObject({ status: 'INVALID_ARGUMENT' });
    expect(await fetchBlob(client, named)).toMatchObject({ status: 'INVALID_ARGUMENT' });
  }
});
