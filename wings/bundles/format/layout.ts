// The parts of a bundle of format 1 (docs/FORMAT.md, "A bundle"): the names and the order of its files, its slices, its head,
// its index and its end.
import { type Hash, isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { MIB } from '../../../core/units.ts';
import { BLOCK, damaged } from './tar.ts';

/** The only format so far. One that is not listed here is refused. */
export const FORMAT = 1;

export const HEAD = 'assay-bundle.json';
export const INDEX_FILE = 'index.zst';
export const END = 'end.json';

/** The manifest, and all blobs one after another, are cut into slices of this size. Each is one zstd frame. */
export const SLICE_BYTES = 1 * MIB;
/** zstd makes no more of a slice. */
export const MAX_FRAME_BYTES = SLICE_BYTES + SLICE_BYTES / 128 + 1024;
export const MAX_HEAD_BYTES = 4096;

/** After so many slices their memory is freed. */
export const FREE_EVERY = 16;

export type Stream = 'manifest' | 'content';

const DIGITS = 8;

export function sliceName(stream: Stream, number: number): string {
  return `${stream}/${String(number).padStart(DIGITS, '0')}.zst`;
}

export function slicesOf(bytes: number): number {
  return Math.ceil(bytes / SLICE_BYTES);
}

/** How many bytes slice `number` has, of so many in all. */
export function sliceSize(bytes: number, number: number): number {
  return Math.min(SLICE_BYTES, bytes - number * SLICE_BYTES);
}

export interface Head {
  /** The SHA-256 of the manifest. It names the bundle: the manifest has the digest of every blob. */
  readonly bundle: Hash;
  readonly manifestBytes: number;
  readonly contentBytes: number;
  /** Ed25519, in base64: of signedText(bundle). */
  readonly signature?: string;
}

export function encodeHead(head: Head): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, ...head })}\n`);
}

/** Reads no more than the format of a bundle that is newer than this version of Assay. */
export function decodeHead(bytes: Buffer): Head {
  const fields = objectIn(bytes.toString(), 'the head of the bundle is not JSON');
  const { format, bundle, manifestBytes, contentBytes, signature } = fields;
  if (typeof format !== 'number' || !Number.isSafeInteger(format) || format < 1)
    throw damaged('the head of the bundle names no format');
  if (format !== FORMAT)
    throw new AssayError('ASSAY_BUNDLE_FORMAT', `the bundle has format ${format}, this is ${FORMAT}`);
  if (typeof bundle !== 'string' || !isHash(bundle) || !isSize(manifestBytes) || !isSize(contentBytes))
    throw damaged('the head of the bundle is incomplete');
  if (signature !== undefined && typeof signature !== 'string')
    throw damaged('the signature in the head of the bundle is malformed');
  const head = { bundle, manifestBytes, contentBytes, ...(signature !== undefined && { signature }) };
  if (!encodeHead(head).equals(bytes)) throw damaged('the head of the bundle has what no version writes');
  return head;
}

/** A maker signs this text, which no other use of the key has. */
export function signedText(bundle: Hash): Buffer {
  return Buffer.from(`assay bundle ${FORMAT} ${bundle}\n`);
}

/** Where each slice lies in the file. */
interface Places {
  readonly manifest: readonly SlicePlace[];
  readonly content: readonly SlicePlace[];
}

export type SlicePlace = readonly [offset: number, size: number];

export function encodeIndex({ manifest, content }: Places): Buffer {
  return Buffer.from(`${JSON.stringify({ manifest, content })}\n`);
}

/** Fills one block, so the last bytes of every bundle lead to its index. */
export function encodeEnd(index: SlicePlace): Buffer {
  return Buffer.from(`${JSON.stringify({ index }).padEnd(BLOCK - 1)}\n`);
}

export function objectIn(text: string, otherwise: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Refused below.
  }
  throw damaged(otherwise);
}

export function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
