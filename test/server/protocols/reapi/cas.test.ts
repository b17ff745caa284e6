// Blobs over gRPC: FindMissingBlobs, batches, ByteStream.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { digestOf, EMPTY } from '../../../../core/digest.ts';
import { BatchUpdateBlobsResponse } from '../../../../core/proto/generated/reapi-services.ts';
import { contentOf } from '../../../store/content.ts';
import { committed, only, readName, reapiServer, uploadName } from './rig.ts';

const MIB = 1024 * 1024;

describe('FindMissingBlobs', () => {
  test('returns exactly the missing digests', async () => {
    const { client } = await reapiServer();
    const contents = Array.from({ length: 100 }, (_, index) => contentOf(`blob ${index}`, 100 + index));
    await client.put(...contents.filter((_, index) => index % 2 === 0));
    const missing = await client.missing(...contents.map(digestOf));
    expect(missing).toEqual(contents.filter((_, index) => index % 2 === 1).map(digestOf));
  });

  test('never returns the empty blob, and distinguishes sizes', async () => {
    const { client } = await reapiServer();
    const [digest = EMPTY] = await client.put(contentOf('a', 10));
    expect(await client.missing(EMPTY)).toEqual([]);
    expect(await client.missing({ ...digest, size: 11 })).toHaveLength(1);
  });
});

describe('a batch', () => {
  test('is answered blob by blob', async () => {
    const { client } = await reapiServer();
    const good = contentOf('good', 100);
    const wrong = contentOf('wrong', 100);
    const answer = await client.batchUpdate(
      { digest: digestOf(good), data: good },
      { digest: digestOf(wrong), data: good },
      { digest: EMPTY, data: Buffer.alloc(0) },
    );
    const { responses } = only(BatchUpdateBlobsResponse, answer);
    expect(responses.map(({ digest, status }) => [digest?.hash, status?.code])).toEqual([
      [digestOf(good).hash, 0],
      [digestOf(wrong).hash, 3],
      [EMPTY.hash, 0],
    ]);
    expect(await client.missing(digestOf(good), digestOf(wrong))).toEqual([digestOf(wrong)]);
  });

  test('is returned in the requested order, with duplicates and misses', async () => {
    const { client } = await reapiServer();
    const bytes = contentOf('one', 70_000);
    const [one = EMPTY] = await client.put(bytes);
    const gone = digestOf(contentOf('gone', 5));
    const responses = await client.readMany([one, gone, one, EMPTY]);
    expect(responses.map(({ digest, status, data }) => [digest?.hash, status?.code, data.length])).toEqual([
      [one.hash, 0, 70_000],
      [gone.hash, 5, 0],
      [one.hash, 0, 70_000],
      [EMPTY.hash, 0, 0],
    ]);
    expect(responses[2]?.data).toEqual(bytes);
  });

  test('that is large arrives whole, and its memory is freed once it is sent', async () => {
    const freed: number[] = [];
    const { transfer } = ArrayBuffer.prototype;
    vi.spyOn(ArrayBuffer.prototype, 'transfer').mockImplementation(function (this: ArrayBuffer, bytes) {
      freed.push(this.byteLength);
      return transfer.call(this, bytes);
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const { client } = await reapiServer();
    const contents = Array.from({ length: 3 }, (_, index) => contentOf(`part ${index}`, MIB));
    const digests = await client.put(...contents);
    freed.length = 0;
    const responses = await client.readMany(digests);
    expect(responses.map(({ data }) => digestOf(data))).toEqual(digests);
    expect(freed.filter((bytes) => bytes > 3 * MIB)).toHaveLength(1);
  });

  test('above the announced limit is refused as a whole', async () => {
    const { client } = await reapiServer();
    const { cacheCapabilities } = await client.capabilities();
    const bytes = contentOf('large', (cacheCapabilities?.maxBatchTotalSizeBytes ?? 0) + 1);
    expect(await client.batchUpdate({ digest: digestOf(bytes), data: bytes })).toMatchObject({
      status: 'INVALID_ARGUMENT',
    });
    expect(await client.batchRead([digestOf(bytes)])).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });
});

describe('ByteStream', () => {
  test.each([0, 1, 1000, 64 * 1024, 64 * 1024 + 1, 3 * MIB + 17])(
    'uploads and downloads %i bytes',
    async (size) => {
      const { client } = await reapiServer();
      const bytes = contentOf(`of ${size}`, size);
      const digest = digestOf(bytes);
      expect(committed(await client.write(uploadName(digest), bytes))).toBe(size);
      expect(await client.readBytes(readName(digest))).toEqual(bytes);
    },
  );

  test.each([
    [0, 10],
    [5, 0],
    [MIB - 1, 2],
    [2 * MIB, 0],
    [2 * MIB - 1, 100],
  ])('reads from offset %i, with the limit %i', async (offset, limit) => {
    const { client } = await reapiServer();
    const bytes = contentOf('part', 2 * MIB);
    const digest = digestOf(bytes);
    await client.write(uploadName(digest), bytes);
    const expected = bytes.subarray(offset, limit === 0 ? undefined : offset + limit);
    expect(await client.readBytes(readName(digest), offset, limit)).toEqual(expected);
  });
});
