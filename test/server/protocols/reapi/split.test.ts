// Large blobs as chunks: split by content, spliced from chunks, verified both ways.
import { describe, expect, test } from 'vitest';
import { type Digest, digestOf, parseDigest, toWire } from '../../../../core/digest.ts';
import {
  SpliceBlobRequest,
  SpliceBlobResponse,
  SplitBlobRequest,
  SplitBlobResponse,
} from '../../../../core/proto/generated/reapi-services.ts';
import type { Blobs } from '../../../../store/store.ts';
import type { GrpcAnswer } from '../../../rig/grpc.ts';
import { noise } from '../../../rig/random.ts';
import { openDiskFolder } from '../../../rig/stores/disk-store.ts';
import { openMemoryStore } from '../../../rig/stores/memory/store.ts';
import { only, PATHS, type ReapiClient, readName, reapiServer, uploadName } from './rig.ts';

const SEED = 7;
const MIB = 1024 * 1024;

function split(client: ReapiClient, digest: Digest): Promise<GrpcAnswer> {
  const request = {
    instanceName: '',
    blobDigest: toWire(digest),
    digestFunction: 0,
    chunkingFunction: 1,
  } as const;
  return client.grpc.call(PATHS.split, SplitBlobRequest.encode(request).finish());
}

function splice(client: ReapiClient, digest: Digest, chunks: readonly Digest[]): Promise<GrpcAnswer> {
  const request = {
    instanceName: '',
    blobDigest: toWire(digest),
    chunkDigests: chunks.map(toWire),
    digestFunction: 0,
    chunkingFunction: 1,
  } as const;
  return client.grpc.call(PATHS.splice, SpliceBlobRequest.encode(request).finish());
}

async function chunksOf(client: ReapiClient, digest: Digest): Promise<Digest[]> {
  return only(SplitBlobResponse, await split(client, digest)).chunkDigests.map(parseDigest);
}

test(`two versions of a blob share most of their chunks, seed ${SEED}`, async () => {
  const { client } = await reapiServer({ store: openDiskFolder });
  const bytes = noise(SEED, 12 * MIB);
  const next = Buffer.concat([
    bytes.subarray(0, 5 * MIB),
    Buffer.from('a few more bytes'),
    bytes.subarray(5 * MIB),
  ]);
  await client.write(uploadName(digestOf(bytes)), bytes);
  await client.write(uploadName(digestOf(next)), next);
  const chunks = await chunksOf(client, digestOf(bytes));
  const nextChunks = await chunksOf(client, digestOf(next));
  expect(chunks.length).toBeGreaterThan(6);
  const known = new Set(chunks.map(({ hash }) => hash));
  expect(nextChunks.filter(({ hash }) => !known.has(hash)).length).toBeLessThanOrEqual(2);
  const parts: Buffer[] = [];
  for (const chunk of chunks) parts.push(await client.readBytes(readName(chunk)));
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  expect(await chunksOf(client, digestOf(bytes))).toEqual(chunks);
});

test('a blob is spliced from chunks, and split into the same chunks', async () => {
  const { client } = await reapiServer({ store: openDiskFolder });
  const parts = [1, 2, 3].map((seed) => noise(seed, MIB));
  const whole = Buffer.concat(parts);
  const chunks = await Promise.all(
    parts.map(async (part) => {
      await client.write(uploadName(digestOf(part), digestOf(part).hash), part);
      return digestOf(part);
    }),
  );
  const { blobDigest } = only(SpliceBlobResponse, await splice(client, digestOf(whole), chunks));
  expect(blobDigest).toMatchObject(toWire(digestOf(whole)));
  expect((await client.readBytes(readName(digestOf(whole)))).equals(whole)).toBe(true);
  expect(await chunksOf(client, digestOf(whole))).toEqual(chunks);
});

test('chunks that are missing, or that do not match the digest, are refused', async () => {
  const { client } = await reapiServer();
  const [one = digestOf(Buffer.alloc(0)), two = one] = await client.put(
    Buffer.from('one'),
    Buffer.from('two'),
  );
  const whole = digestOf(Buffer.from('onetwo'));
  expect(await splice(client, whole, [two, one])).toMatchObject({ status: 'INVALID_ARGUMENT' });
  expect(await splice(client, whole, [one])).toMatchObject({ status: 'INVALID_ARGUMENT' });
  const gone = digestOf(Buffer.from('two?'));
  expect(await splice(client, { ...whole, size: 7 }, [one, gone])).toMatchObject({ status: 'NOT_FOUND' });
  expect(await split(client, whole)).toMatchObject({ status: 'NOT_FOUND' });
  expect(await client.missing(whole)).toEqual([whole]);
});

describe('a splice', () => {
  const MANY = 64;

  /** A store that counts the reads of blobs under way, and blocks them until released. */
  function watchedStore() {
    const store = openMemoryStore();
    const seen = { puts: 0, reading: 0, mostReading: 0 };
    let open = Promise.withResolvers<void>();
    open.resolve();
    const blobs: Blobs = {
      ...store.blobs,
      async get(hash) {
        seen.reading++;
        seen.mostReading = Math.max(seen.mostReading, seen.reading);
        await open.promise;
        seen.reading--;
        return store.blobs.get(hash);
      },
      put(expected, content) {
        seen.puts++;
        return store.blobs.put(expected, content);
      },
    };
    return {
      store: { ...store, blobs },
      seen,
      hold: () => {
        open = Promise.withResolvers<void>();
        return open.resolve;
      },
    };
  }

  test('is at most 64 times as large as its distinct chunks', async () => {
    const { store, seen } = watchedStore();
    const { client } = await reapiServer({ store });
    const chunk = Buffer.from('a chunk');
    const [digest = digestOf(chunk)] = await client.put(chunk);
    const repeated = (count: number) =>
      splice(
        client,
        digestOf(Buffer.concat(Array.from({ length: count }, () => chunk))),
        Array.from({ length: count }, () => digest),
      );
    const puts = seen.puts;
    expect(await repeated(MANY + 1)).toMatchObject({ status: 'RESOURCE_EXHAUSTED' });
    expect(seen.puts).toBe(puts);
    expect(await repeated(MANY)).toMatchObject({ status: 'OK' });
  });

  test('with a wrong announced hash writes nothing', async () => {
    const { store, seen } = watchedStore();
    const { client } = await reapiServer({ store });
    const parts = [noise(1, 70_000), noise(2, 70_000)];
    const chunks = await client.put(...parts);
    const wrong = digestOf(Buffer.concat([...parts].reverse()));
    const puts = seen.puts;
    expect(await splice(client, wrong, chunks)).toMatchObject({ status: 'INVALID_ARGUMENT' });
    expect(seen.puts).toBe(puts);
  });

  test('waits while two others run', async () => {
    const { store, seen, hold } = watchedStore();
    const { client } = await reapiServer({ store });
    const parts = Array.from({ length: 6 }, (_, index) => Buffer.from(`part ${index}`));
    const chunks = await client.put(...parts);
    const letGo = hold();
    const answers = [0, 1, 2, 3, 4].map((index) =>
      splice(client, digestOf(Buffer.concat(parts.slice(index, index + 2))), chunks.slice(index, index + 2)),
    );
    await expect.poll(() => seen.reading).toBe(2);
    // All five are requested by then: calls on one connection are processed in order.
    await client.missing(...chunks);
    expect(seen.reading).toBe(2);
    letGo();
    for (const answer of answers) expect(await answer).toMatchObject({ status: 'OK' });
    expect(seen.mostReading).toBe(2);
  });
});

test('a small blob is its only chunk', async () => {
  const { client } = await reapiServer();
  const [digest = digestOf(Buffer.alloc(0))] = await client.put(Buffer.from('small'));
  expect(await chunksOf(client, digest)).toEqual([digest]);
});
