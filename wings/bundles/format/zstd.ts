// zstd frames of slices, in the threads of node:zlib.
// Guarantee: a frame is decompressed only to the size that its slice must have, with a window of 2 MiB. No frame costs more.
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { KIB } from '../../../core/units.ts';
import { damaged } from './tar.ts';

const ENCODING = { params: { [constants.ZSTD_c_compressionLevel]: 3 }, chunkSize: 256 * KIB };
/** The window that level 3 takes for an index longer than a slice. */
const WINDOW_LOG = 21;

export function compressSlice(slice: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zstdCompress(slice, ENCODING, (error, frame) => (error ? reject(error) : resolve(frame)));
  });
}

/** To exactly `size` bytes. */
export function decompressSlice(frame: Uint8Array, size: number, name: string): Promise<Buffer> {
  const limits = {
    params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
    maxOutputLength: Math.max(1, size),
    /* In one piece: by default node:zlib makes pieces of 16 KiB, and joins them. */
    chunkSize: Math.max(constants.Z_MIN_CHUNK, size),
  };
  return new Promise((resolve, reject) => {
    zstdDecompress(frame, limits, (error, slice) => {
      if (!error && slice.length === size) resolve(slice);
      else reject(damaged(`${name} does not decompress to ${size} bytes`));
    });
  });
}
