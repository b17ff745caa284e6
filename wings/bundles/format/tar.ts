// The tar around a bundle: ustar headers of regular files, and nothing else.
// Guarantee: a header is read only if it is, byte for byte, the one that Assay writes for that name and size. So a link, an
// absolute path, or a name in another spelling is refused, whatever a tar program would make of it.
import { AssayError } from '../../../core/errors.ts';

export const BLOCK = 512;
/** Two empty blocks end an archive. */
export const END_OF_TAR = Buffer.alloc(2 * BLOCK);

const NAME_BYTES = 100;
const SIZE_AT = 124;
const SIZE_DIGITS = 11;
const CHECKSUM_AT = 148;
const CHECKSUM_BYTES = 8;
/** Fields that every header has: mode 0644, owner 0, group 0, time 0, a regular file, the magic of ustar. */
const FIXED: readonly (readonly [at: number, text: string])[] = [
  [100, '0000644\0'],
  [108, '0000000\0'],
  [116, '0000000\0'],
  [136, '00000000000\0'],
  [156, '0'],
  [257, 'ustar\x0000'],
];

export function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, NAME_BYTES, 'latin1');
  for (const [at, text] of FIXED) header.write(text, at, 'latin1');
  header.write(`${size.toString(8).padStart(SIZE_DIGITS, '0')}\0`, SIZE_AT, 'latin1');
  header.fill(' ', CHECKSUM_AT, CHECKSUM_AT + CHECKSUM_BYTES);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT, 'latin1');
  return header;
}

/** The size of the file that must have this name. */
export function sizeInHeader(header: Buffer, name: string, most: number): number {
  const digits = header.toString('latin1', SIZE_AT, SIZE_AT + SIZE_DIGITS);
  const size = /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
  if (size <= most && header.equals(tarHeader(name, size))) return size;
  throw damaged(`${name} does not begin where it should, or is larger than it may be`);
}

/** How many zeros follow a file of this size, up to the next block. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

export function damaged(detail: string): AssayError {
  return new AssayError('ASSAY_BUNDLE_DAMAGED', detail);
}
