// Access to each method, and the status of each client error: one that names the error, never UNKNOWN.
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../../core/namespace.ts';
import { RequestMetadata } from '../../../../core/proto/generated/reapi-services.ts';
import { GrpcClient } from '../../../rig/grpc.ts';
import { addressOf, contentOf, directoryOf, resultWith } from '../../../store/content.ts';
import { EVERYBODY } from '../../access/identities.ts';
import { TestClock } from '../../capacity/test-clock.ts';
import { ask, storeWith } from '../../rig.ts';
import { PATHS, ReapiClient, readName, reapiClient, reapiServer, uploadName, writeRequest } from './rig.ts';

const METADATA = 'build.bazel.remote.execution.v2.requestmetadata-bin';
const MIB = 1024 * 1024;
const BYTES = contentOf('some bytes', 100);
const DIGEST = digestOf(BYTES);

describe('a gRPC server with a token', () => {
  const bearer = { authorization: 'Bearer the token' };

  test('accepts it for every method, as Bearer or as Basic', async () => {
    const { server } = await reapiServer({ token: 'thetoken' });
    for (const authorization of [
      'Bearer thetoken',
      `Basic ${Buffer.from('anyone:thetoken').toString('base64')}`,
    ]) {
      const client = await reapiClient(server.url, { authorization });
      expect(await client.put(BYTES)).toEqual([DIGEST]);
    }
  });

  test.each([{}, { authorization: 'Bearer wrong' }, bearer])(
    'refuses calls without it or with a wrong one: %j',
    async (headers) => {
      const { client } = await reapiServer({ token: 'thetoken' }, headers);
      expect(await client.findMissing([DIGEST])).toMatchObject({ status: 'UNAUTHENTICATED' });
      expect(await client.write(uploadName(DIGEST), BYTES)).toMatchObject({ status: 'UNAUTHENTICATED' });
      expect(await client.getResult(DIGEST)).toMatchObject({ status: 'UNAUTHENTICATED' });
    },
  );
});

test('a read-only server reports that in its capabilities, and stores nothing', async () => {
  const { client } = await reapiServer({ readOnly: true });
  const { cacheCapabilities } = await client.capabilities();
  expect(cacheCapabilities?.actionCacheUpdateCapabilities).toMatchObject({ updateEnabled: false });
  for (const answer of [
    client.write(uploadName(DIGEST), BYTES),
    client.batchUpdate({ digest: DIGEST, data: BYTES }),
    client.updateResult(DIGEST, Buffer.alloc(0)),
    client.grpc.call(PATHS.splice, Buffer.alloc(0)),
  ]) {
    expect(await answer).toMatchObject({ status: 'PERMISSION_DENIED' });
  }
  expect(await client.missing(DIGEST)).toEqual([DIGEST]);
});

test('a denied call is counted, by its method', async () => {
  const { server, client } = await reapiServer(
    { identities: EVERYBODY, token: 'root' },
    { authorization: 'Bearer reader' },
  );
  expect(await client.batchUpdate({ digest: DIGEST, data: BYTES })).toMatchObject({
    status: 'PERMISSION_DENIED',
  });
  expect(await client.updateResult(DIGEST, Buffer.alloc(0))).toMatchObject({ status: 'PERMISSION_DENIED' });
  expect(await client.getResult(DIGEST)).toMatchObject({ status: 'NOT_FOUND' });
  const metrics = await ask(`${server.url}/metrics`, 'GET', { headers: { authorization: 'Bearer root' } });
  expect(metrics.body.toString().match(/^assay_denied_total\{.*/gm)).toEqual([
    'assay_denied_total{route="ContentAddressableStorage.BatchUpdateBlobs"} 1',
    'assay_denied_total{route="ActionCache.UpdateActionResult"} 1',
  ]);
});

test.each([
  ['bazel', '4.2.3', true],
  ['bazel', '5.4.1', true],
  ['bazel', '6.0.0', false],
  ['bazel', '10.1.0', false],
  ['bazel', '', true],
  ['moon', '2.4.6', false],
])('a read-only server tells %s %s that it may update: %s', async (toolName, toolVersion, updateEnabled) => {
  const metadata = { ...RequestMetadata.decode(Buffer.alloc(0)), toolDetails: { toolName, toolVersion } };
  const header = Buffer.from(RequestMetadata.encode(metadata).finish()).toString('base64');
  const { client } = await reapiServer({ readOnly: true }, { [METADATA]: header });
  const { cacheCapabilities } = await client.capabilities();
  expect(cacheCapabilities?.actionCacheUpdateCapabilities).toMatchObject({ updateEnabled });
  expect(await client.updateResult(DIGEST, Buffer.alloc(0))).toMatchObject({ status: 'PERMISSION_DENIED' });
});

describe('client errors', () => {
  test.each([
    ['no message', PATHS.findMissing, undefined, 'INVALID_ARGUMENT'],
    ['a truncated message', PATHS.findMissing, Buffer.from([0x12, 0x50, 1]), 'INVALID_ARGUMENT'],
    ['an invalid digest', PATHS.findMissing, Buffer.from('12040a026e6f', 'hex'), 'INVALID_ARGUMENT'],
    ['an invalid instance', PATHS.capabilities, Buffer.from('0a032e2e2f', 'hex'), 'INVALID_ARGUMENT'],
    ['another digest function', PATHS.getResult, Buffer.from('3009', 'hex'), 'INVALID_ARGUMENT'],
    ['no digest', PATHS.getResult, Buffer.alloc(0), 'INVALID_ARGUMENT'],
    ['no result', PATHS.updateResult, Buffer.alloc(0), 'INVALID_ARGUMENT'],
    ['an unknown method', '/some.Service/Method', Buffer.alloc(0), 'UNIMPLEMENTED'],
    ['execution', '/build.bazel.remote.execution.v2.Execution/Execute', Buffer.alloc(0), 'UNIMPLEMENTED'],
  ])('%s gets the right status', async (_name, path, message, status) => {
    const { client } = await reapiServer();
    const call = client.grpc.open(path);
    if (message) await call.send(message);
    call.end();
    expect(await call.answer()).toMatchObject({ status });
  });

  test('a message with an excessive length is refused before it arrives', async () => {
    const { client } = await reapiServer();
    const call = client.grpc.open(PATHS.findMissing);
    call.stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]));
    expect(await call.answer()).toMatchObject({ status: 'RESOURCE_EXHAUSTED' });
  });

  test('a compressed message is refused', async () => {
    const { client } = await reapiServer();
    const call = client.grpc.open(PATHS.findMissing);
    call.stream.end(Buffer.from([1, 0, 0, 0, 0]));
    expect(await call.answer()).toMatchObject({ status: 'UNIMPLEMENTED' });
  });

  test('two messages in a unary call are refused', async () => {
    const { client } = await reapiServer();
    const call = client.grpc.open(PATHS.findMissing);
    await call.send(Buffer.alloc(0));
    await call.send(Buffer.alloc(0));
    call.end();
    expect(await call.answer()).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });

  test.each([
    ['', 'INVALID_ARGUMENT'],
    ['blobs/xyz/1', 'INVALID_ARGUMENT'],
    [`blobs/${DIGEST.hash}`, 'INVALID_ARGUMENT'],
    [`blobs/${DIGEST.hash}/-1`, 'INVALID_ARGUMENT'],
    [`blobs/${DIGEST.hash}/${'9'.repeat(15)}`, 'NOT_FOUND'],
    [`../blobs/${DIGEST.hash}/100`, 'INVALID_ARGUMENT'],
    [`compressed-blobs/gzip/${DIGEST.hash}/100`, 'INVALID_ARGUMENT'],
    [`blobs/blake3/${DIGEST.hash}/100`, 'INVALID_ARGUMENT'],
    [readName(DIGEST), 'NOT_FOUND'],
  ])('reading %s gets %s', async (name, status) => {
    const { client } = await reapiServer();
    expect(await client.read(name)).toMatchObject({ status });
  });

  test('reading with an offset beyond the end or a negative limit is refused', async () => {
    const { client } = await reapiServer();
    await client.put(BYTES);
    expect(await client.read(readName(DIGEST), 101)).toMatchObject({ status: 'OUT_OF_RANGE' });
    expect(await client.read(readName(DIGEST), -1)).toMatchObject({ status: 'OUT_OF_RANGE' });
    expect(await client.read(readName(DIGEST), 0, -1)).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });

  test('writing content that does not match the digest is refused', async () => {
    const { client } = await reapiServer();
    for (const bytes of [BYTES.subarray(1), contentOf('other', 100), Buffer.concat([BYTES, BYTES])]) {
      expect(await client.write(uploadName(DIGEST), bytes)).toMatchObject({ status: 'INVALID_ARGUMENT' });
    }
    expect(await client.missing(DIGEST)).toEqual([DIGEST]);
  });

  test('writing with offsets that do not follow each other is refused', async () => {
    const { client } = await reapiServer();
    const call = client.grpc.open(PATHS.write);
    const first = {
      resourceName: uploadName(DIGEST),
      writeOffset: 0,
      finishWrite: false,
      data: BYTES.subarray(0, 10),
    };
    await call.send(writeRequest(first));
    await call.send(writeRequest({ ...first, writeOffset: 50 }));
    expect(await call.answer()).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });
});

test('GetTree returns the whole tree, also in pages, and omits missing folders', async () => {
  const { client } = await reapiServer();
  const leaves = Array.from({ length: 10 }, (_, index) =>
    directoryOf([digestOf(Buffer.from(`file ${index}`))]),
  );
  const root = directoryOf([], [...leaves, leaves[0] ?? BYTES].map(digestOf));
  await client.put(root, ...leaves.slice(0, 9));
  const sizesOf = (pages: Awaited<ReturnType<typeof client.tree>>) =>
    pages.map(({ directories }) => directories.length);
  expect(sizesOf(await client.tree(digestOf(root)))).toEqual([10]);
  const pages = await client.tree(digestOf(root), 4);
  expect(sizesOf(pages)).toEqual([4, 4, 2]);
  const rest = await client.tree(digestOf(root), 4, pages[1]?.nextPageToken);
  expect(rest).toEqual(pages.slice(2));
  expect(await client.treeAnswer(digestOf(root), 0, 'nonsense')).toMatchObject({
    status: 'INVALID_ARGUMENT',
  });
  expect(await client.treeAnswer(digestOf(BYTES))).toMatchObject({ status: 'NOT_FOUND' });
});

test('an error of the store is INTERNAL, and its detail is not sent', async () => {
  const get = async () => {
    throw new Error('/secret/folder is broken');
  };
  const { client, server } = await reapiServer({ store: storeWith({ get }) });
  const answer = await client.read(readName(DIGEST));
  expect(answer.status).toBe('INTERNAL');
  expect(answer.message).not.toContain('secret');
  expect(server.logged()).toContain('secret');
});

test('a client that stops in the middle of a write gets DEADLINE_EXCEEDED', async () => {
  const limits = { noProgressMs: 50, sweepMs: 10 };
  const { client } = await reapiServer({ limits });
  const call = client.grpc.open(PATHS.write);
  await call.send(
    writeRequest({
      resourceName: uploadName(DIGEST),
      writeOffset: 0,
      finishWrite: false,
      data: BYTES.subarray(0, 10),
    }),
  );
  expect(await call.answer()).toMatchObject({ status: 'DEADLINE_EXCEEDED' });
});

test('stop waits for an upload to end, refuses later calls, and closes idle connections', async () => {
  const { client, server } = await reapiServer();
  const idle = await reapiClient(server.url);
  const call = client.grpc.open(PATHS.write);
  const first = {
    resourceName: uploadName(DIGEST),
    writeOffset: 0,
    finishWrite: false,
    data: BYTES.subarray(0, 10),
  };
  await call.send(writeRequest(first));
  await client.missing(DIGEST);
  const stopped = server.stop();
  const rest = { resourceName: '', writeOffset: 10, finishWrite: true, data: BYTES.subarray(10) };
  await call.send(writeRequest(rest));
  call.end();
  expect(await call.answer()).toMatchObject({ status: 'OK' });
  await stopped;
  expect(idle.grpc.session.closed || idle.grpc.session.destroyed).toBe(true);
  expect(await server.store.blobs.get(DIGEST.hash)).toBeDefined();
});

test('stop cuts off an upload that does not end', async () => {
  const { client, server } = await reapiServer({ limits: { drainMs: 50 } });
  const call = client.grpc.open(PATHS.write);
  const first = {
    resourceName: uploadName(DIGEST),
    writeOffset: 0,
    finishWrite: false,
    data: BYTES.subarray(0, 10),
  };
  await call.send(writeRequest(first));
  await client.missing(DIGEST);
  await server.stop();
  await expect(call.answer()).rejects.toThrow('no status');
  expect(await server.store.blobs.get(DIGEST.hash)).toBeUndefined();
});

test('GetTree holds message memory for as long as its response is sent', async () => {
  const { client, server } = await reapiServer({ limits: { requestMemoryBytes: 30_000 } });
  const folders = Array.from({ length: 20 }, (_, number) =>
    directoryOf(Array.from({ length: 20 + number }, () => DIGEST)),
  );
  const root = directoryOf([], folders.map(digestOf));
  const wide = directoryOf(Array.from({ length: 200 }, () => DIGEST));
  for (const folder of [root, wide, ...folders]) await server.store.blobs.put(digestOf(folder), folder);
  for (const _time of [1, 2, 3]) {
    expect(await client.treeAnswer(digestOf(wide))).toMatchObject({ status: 'UNAVAILABLE' });
    expect(await client.tree(digestOf(root), 1)).toHaveLength(21);
    expect(await client.tree(digestOf(root), 1, '19')).toHaveLength(2);
  }
});

describe('a response held in memory', () => {
  const result = resultWith({ stdoutRaw: contentOf('a long log', MIB) });

  test.each([
    [2 * result.length, 'OK'],
    [result.length - 1, 'UNAVAILABLE'],
  ])('with a limit of %i bytes gets %s', async (responseMemoryBytes, status) => {
    const { client, server } = await reapiServer({ limits: { responseMemoryBytes } });
    await server.store.results.put({ namespace: DEFAULT_NAMESPACE, key: DIGEST.hash }, result);
    for (let time = 0; time < 5; time++) {
      expect(await client.getResult(DIGEST)).toMatchObject({ status });
    }
  });

  test('may be read slowly, as long as the client makes progress', async () => {
    const clock = new TestClock();
    const { server } = await reapiServer({ clock, limits: { sweepMs: 10, maxWriteBytes: 128 * 1024 } });
    await server.store.results.put(addressOf('an action'), result);
    const grpc = await GrpcClient.to(server.url, {}, { settings: { initialWindowSize: 0 } });
    onTestFinished(() => grpc.close());
    let isAnswered = false;
    const answer = new ReapiClient(grpc).getResult({ hash: addressOf('an action').key, size: 1 });
    answer.finally(() => {
      isAnswered = true;
    });
    for (let windowBytes = 256 * 1024; !isAnswered; windowBytes += 256 * 1024) {
      await clock.pass(50);
      grpc.session.settings({ initialWindowSize: windowBytes });
      await delay(20);
    }
    expect(await answer).toMatchObject({ status: 'OK', messages: [result] });
  });
});
