// zstd on the wire: compression and decompression, and never more than the announced size.
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../../core/digest.ts';
import {
  BatchUpdateBlobsResponse,
  Compressor_Value,
} from '../../../../core/proto/generated/reapi-services.ts';
import { decompressStream } from '../../../../server/protocols/reapi/zstd.ts';
import { bombOf } from '../../../rig/bombs.ts';
import { noise } from '../../../rig/random.ts';
import { openDiskFolder } from '../../../rig/stores/disk-store.ts';
import { contentOf } from '../../../store/content.ts';
import { committed, only, readName, reapiServer, uploadName } from './rig.ts';

const MIB = 1024 * 1024;

function zstdName({ hash, size }: Digest): string {
  return `uploads/an-upload/compressed-blobs/zstd/${hash}/${size}`;
}

function zstdReadName({ hash, size }: Digest): string {
  return `compressed-blobs/zstd/${hash}/${size}`;
}

describe('a zstd stream', () => {
  test.each([0, 1, 1000, 3 * MIB + 1])(
    'of %i bytes is decompressed on upload and compressed on download',
    async (size) => {
      const { client } = await reapiServer({ store: openDiskFolder });
      const bytes = contentOf('zstd', size);
      const digest = digestOf(bytes);
      const small = zstdCompressSync(bytes);
      expect(committed(await client.write(zstdName(digest), small))).toBe(size === 0 ? -1 : small.length);
      expect(await client.readBytes(readName(digest))).toEqual(bytes);
      expect(zstdDecompressSync(await client.readBytes(zstdReadName(digest)))).toEqual(bytes);
      expect(committed(await client.write(zstdName(digest), small))).toBe(-1);
    },
  );

  test('is read from an offset of the uncompressed blob, without a limit', async () => {
    const { client } = await reapiServer();
    const bytes = contentOf('zstd', 100_000);
    const digest = digestOf(bytes);
    await client.write(uploadName(digest), bytes);
    expect(zstdDecompressSync(await client.readBytes(zstdReadName(digest), 77_777))).toEqual(
      bytes.subarray(77_777),
    );
    expect(await client.read(zstdReadName(digest), 0, 5)).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });

  test.each([
    ['inflates to more than announced', zstdCompressSync(Buffer.alloc(64 * MIB)), 2 * MIB],
    ['inflates to less than announced', zstdCompressSync(Buffer.alloc(MIB)), 2 * MIB],
    ['is not zstd', Buffer.alloc(100, 'x'), 2 * MIB],
    ['breaks off', zstdCompressSync(contentOf('breaks', 3 * MIB)).subarray(0, 1000), 3 * MIB],
    ['inflates to more than announced, small', zstdCompressSync(Buffer.alloc(64 * MIB)), 1000],
    ['is not zstd, small', Buffer.alloc(100, 'x'), 1000],
  ])('that %s is refused', async (_name, small, size) => {
    const { client } = await reapiServer({ store: openDiskFolder });
    const digest = digestOf(Buffer.alloc(size));
    expect(await client.write(zstdName(digest), small)).toMatchObject({ status: 'INVALID_ARGUMENT' });
    expect(await client.missing(digest)).toEqual([digest]);
  });
});

describe('the decompression ratio', () => {
  test('of 5 MB of zeros, as moon sends them, is accepted', async () => {
    const { client } = await reapiServer({ store: openDiskFolder });
    const bytes = Buffer.alloc(5_000_000);
    const digest = digestOf(bytes);
    const small = zstdCompressSync(bytes);
    expect(small.length).toBeLessThan(bytes.length / 1000);
    expect(committed(await client.write(zstdName(digest), small))).toBe(small.length);
    expect((await client.readBytes(readName(digest))).equals(bytes)).toBe(true);
  });

  const incompressible = zstdCompressSync(noise(1, MIB));

  test.each([
    ['256 MiB at any ratio', [bombOf(256 * MIB)], 256 * MIB],
    ['300 MiB after 1 MiB', [incompressible, bombOf(300 * MIB)], 301 * MIB],
    ['1 MiB after 256 MiB', [bombOf(256 * MIB), incompressible], 257 * MIB],
  ])('of %s is accepted', async (_what, pieces, announced) => {
    expect(await inflatedBytes(pieces, announced)).toBe(announced);
  });

  test.each([
    ['300 MiB at more than 1,000-fold', [bombOf(300 * MIB)], 300 * MIB],
    ['1,400 MiB after 1 MiB', [incompressible, bombOf(1400 * MIB)], 1401 * MIB],
    ['a byte more than was announced', [bombOf(3 * MIB + 1)], 3 * MIB],
  ])('of %s is refused', async (_what, pieces, announced) => {
    await expect(inflatedBytes(pieces, announced)).rejects.toThrow('ASSAY_BAD_COMPRESSION');
  });
});

async function inflatedBytes(pieces: readonly Buffer[], announced: number): Promise<number> {
  let bytes = 0;
  const source = async function* () {
    yield* pieces;
  };
  for await (const piece of decompressStream(source(), announced)) bytes += piece.length;
  return bytes;
}

describe('a zstd batch', () => {
  test('may be compressed, and is compressed in the response where that helps', async () => {
    const { client } = await reapiServer();
    const bytes = Buffer.alloc(50_000, 'again and again ');
    const digest = digestOf(bytes);
    await client.batchUpdate({ digest, data: zstdCompressSync(bytes), zstd: true });
    const [plain] = await client.readMany([digest]);
    expect(plain).toMatchObject({ compressor: Compressor_Value.IDENTITY, data: bytes });
    const [small] = await client.readMany([digest], true);
    expect(small?.compressor).toBe(Compressor_Value.ZSTD);
    expect(small?.data.length).toBeLessThan(1000);
    expect(zstdDecompressSync(small?.data ?? Buffer.alloc(0))).toEqual(bytes);
  });

  test.each([
    ['a bomb', zstdCompressSync(Buffer.alloc(64 * MIB)), 1000],
    ['noise', Buffer.from('noise'), 1000],
    ['too little', zstdCompressSync(Buffer.alloc(10)), 1000],
    ['something for the empty blob', zstdCompressSync(Buffer.alloc(10)), 0],
  ])('with %s in it gets an error for that blob only', async (_name, data, size) => {
    const { client } = await reapiServer();
    const digest = digestOf(Buffer.alloc(size));
    const { responses } = only(
      BatchUpdateBlobsResponse,
      await client.batchUpdate({ digest, data, zstd: true }),
    );
    expect(responses[0]?.status?.code).toBe(size === 0 ? 0 : 3);
  });
});
