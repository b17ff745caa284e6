// A digest in a message, read where it lies: builds ask about thousands at a time, and a decoder that makes
// text of each hash costs more than finding the blobs (docs/MEASUREMENTS.md#0120).
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { BinaryDigest, type Digest, decodeHash, HASH_BYTES, parseDigest } from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { FLAT } from '../../../core/request-shapes.ts';

/** Tags: the number of a field and its wire type. */
const HASH = (1 << 3) | WireType.LengthDelimited;
const SIZE = (2 << 3) | WireType.Varint;

const HASH_LENGTH = 2 * HASH_BYTES;
/** The tag and the length of the hash before it, the tag of the size after it. */
const HASH_START = 2;
const SIZE_TAG_AT = HASH_START + HASH_LENGTH;
const SIZE_START = SIZE_TAG_AT + 1;
/** Seven bytes hold sizes up to 2^49. */
const MAX_SIZE_BYTES = 7;

/** A message holds no more digests than this that take a place of HASH_BYTES. */
export function mostDigestsIn(message: Buffer): number {
  return Math.floor(message.length / SIZE_START);
}

/**
 * The reader stands before the length of the digest, and then behind the digest. The place in `keys` is its
 * own.
 */
export function readDigest(message: Buffer, reader: BinaryReader, keys: Buffer, keyAt: number): Digest {
  const length = readShortVarint(message, reader);
  const start = reader.pos;
  const end = start + length;
  if (end > reader.len) throw new Error('a digest ends beyond the message');
  reader.pos = end;
  return (
    usualDigest(message, start, end, keys, keyAt) ?? parseDigest(unusualDigest(message.subarray(start, end)))
  );
}

/** Tags and lengths are mostly one byte, for which the reader is slow. */
export function readShortVarint(message: Buffer, reader: BinaryReader): number {
  const byte = message[reader.pos] ?? 0x80;
  if (byte >= 0x80) return reader.uint32();
  reader.pos++;
  return byte;
}

/** Undefined for what is not written as every library does: the hash, then the size, nothing else. */
function usualDigest(
  bytes: Buffer,
  start: number,
  end: number,
  keys: Buffer,
  keyAt: number,
): Digest | undefined {
  const sizeBytes = end - start - SIZE_START;
  const isUsual =
    sizeBytes > 0 &&
    sizeBytes <= MAX_SIZE_BYTES &&
    bytes[start] === HASH &&
    bytes[start + 1] === HASH_LENGTH &&
    bytes[start + SIZE_TAG_AT] === SIZE;
  if (!isUsual) return undefined;
  const size = varintAt(bytes, start + SIZE_START, end);
  if (size === undefined || !decodeHash(bytes, start + HASH_START, keys, keyAt)) return undefined;
  return new BinaryDigest(keys, keyAt, size);
}

/** Undefined unless it ends exactly there. */
function varintAt(bytes: Buffer, start: number, end: number): number | undefined {
  let value = 0;
  for (let at = end - 1; at >= start; at--) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 !== at < end - 1) return undefined;
    value = value * 128 + (byte & 0x7f);
  }
  return value;
}

function unusualDigest(bytes: Buffer): WireDigest {
  return decodeStrict(WireDigest, FLAT, bytes, 'a digest is malformed', 'ASSAY_MESSAGE_MALFORMED');
}
