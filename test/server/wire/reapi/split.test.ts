// Large blobs as chunks: split by content, spliced from chunks, verified either way.
import { expect, test } from 'vitest';
import { type Digest, digestOf, parseDigest, toWire } from '../../../../core/digest.ts';
import {
  SpliceBlobRequest,
  SpliceBlobResponse,
  SplitBlobRequest,
  SplitBlobResponse,
} from '../../../../core/proto/generated/reapi-services.ts';
import { openDiskFolder } from '../../../rig/disk-store.ts';
import type { GrpcAnswer } from '../../../rig/grpc.ts';
import { noise } from '../../../rig/random.ts';
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

test(`a blob and its next version share most of their chunks, seed ${SEED}`, async () => {
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

test('a blob is spliced from chunks, and split into the same ones', async () => {
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

test('chunks that make up something else, or are not all there, are refused', async () => {
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

test('a small blob is its own only chunk', async () => {
  const { client } = await reapiServer();
  const [digest = digestOf(Buffer.alloc(0))] = await client.put(Buffer.from('small'));
  expect(await chunksOf(client, digest)).toEqual([digest]);
});
