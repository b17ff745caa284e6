// zstd compression of blobs. Decompression stops at the size that the digest announces: a few kilobytes could
// expand to terabytes.
import type { Transform } from 'node:stream';
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { AssayError } from '../../../core/errors.ts';
import { freeBuffer } from '../../capacity/buffers.ts';
import { ZSTD } from '../../limits.ts';

const DECODING = { params: { [constants.ZSTD_d_windowLogMax]: ZSTD.maxWindowLog } };
const ENCODING = { params: { [constants.ZSTD_c_compressionLevel]: ZSTD.level } };

/** Decompresses to exactly `size` bytes, or throws. */
export function decompress(bytes: Uint8Array, size: number): Buffer {
  try {
    const content =
      size === 0 ? Buffer.alloc(0) : zstdDecompressSync(bytes, { ...DECODING, maxOutputLength: size });
    if (content.length === size) return content;
  } catch (cause) {
    throw notZstd(cause);
  }
  throw new AssayError(
    'ASSAY_SIZE_MISMATCH',
    `the content does not decompress to the announced ${size} bytes`,
  );
}

export function compress(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, ENCODING);
}

/**
 * Decompresses a stream. Throws as soon as it yields more than `size` bytes, or expands as much as only an
 * attack does. The buffer of a piece is freed when the next one is asked for.
 */
export async function* decompressStream(
  pieces: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Buffer, void, void> {
  let total = 0;
  let sent = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) {
        const slice = piece.subarray(at, at + Math.max(ZSTD.firstInputBytes, sent));
        at += slice.length;
        sent += slice.length;
        yield slice;
      }
    }
  }
  for await (const piece of through(
    createZstdDecompress({ ...DECODING, chunkSize: ZSTD.pieceBytes }),
    counted(),
  )) {
    total += piece.length;
    if (total > ZSTD.ratioUncheckedBytes + sent * ZSTD.maxRatio) throw bomb();
    if (total > size) {
      throw new AssayError(
        'ASSAY_BAD_COMPRESSION',
        `the content decompresses to more than the announced ${size} bytes`,
      );
    }
    yield piece;
    freeBuffer(piece);
  }
}

export function compressStream(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  return through(createZstdCompress({ ...ENCODING, chunkSize: ZSTD.pieceBytes }), pieces);
}

/**
 * Asks the source for the next piece only when the codec has consumed the last one, because the source may
 * reuse its memory.
 */
async function* through(
  codec: Transform,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer, void, void> {
  let failure: { readonly reason: unknown } | undefined;
  const feed = async () => {
    for await (const piece of pieces) await written(codec, piece);
    codec.end();
  };
  feed().catch((reason: unknown) => {
    failure = { reason };
    codec.destroy();
  });
  try {
    for await (const piece of codec) yield piece;
  } catch (cause) {
    throw failure ? failure.reason : notZstd(cause);
  }
  if (failure) throw failure.reason;
}

function written(codec: Transform, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    codec.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}

function bomb(): AssayError {
  const { maxRatio, ratioUncheckedBytes } = ZSTD;
  const detail = `beyond ${ratioUncheckedBytes} bytes the content expands more than ${maxRatio}-fold; send it without compression`;
  return new AssayError('ASSAY_BAD_COMPRESSION', detail);
}

function notZstd(cause: unknown): AssayError {
  return new AssayError(
    'ASSAY_BAD_COMPRESSION',
    'the content is not zstd, or decompresses to more than announced',
    { cause },
  );
}
