// A FindMissingBlobsRequest, read in one pass: builds ask about thousands of blobs at a time, and walking, decoding and
// checking the same message one after the other costs more than finding the blobs (docs/decisions/0050).
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Digest, decodeHash, HASH_BYTES, KeyedDigest, parseDigest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { MESSAGE } from '../../../core/limits.ts';
import { decodeWhole } from '../../../core/message.ts';
import { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { FLAT } from '../../../core/request-shapes.ts';

export interface DigestList {
  readonly instanceName: string;
  readonly digests: readonly Digest[];
  readonly digestFunction: number;
}

/** Tags: the number of a field and its wire type. */
const INSTANCE_NAME = (1 << 3) | WireType.LengthDelimited;
const DIGEST = (2 << 3) | WireType.LengthDelimited;
const DIGEST_FUNCTION = (3 << 3) | WireType.Varint;
const HASH = (1 << 3) | WireType.LengthDelimited;
const SIZE = (2 << 3) | WireType.Varint;

const HASH_LENGTH = 2 * HASH_BYTES;
/** The tag and the length of the hash before it, the tag of the size after it. */
const HASH_START = 2;
const SIZE_TAG_AT = HASH_START + HASH_LENGTH;
const SIZE_START = SIZE_TAG_AT + 1;
/** Seven bytes hold sizes up to 2^49. */
const MAX_SIZE_BYTES = 7;

export function readDigestList(message: Buffer): DigestList {
  try {
    return read(message);
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'not a FindMissingBlobsRequest', { cause: error });
  }
}

function read(message: Buffer): DigestList {
  const reader = new BinaryReader(message);
  const digests: Digest[] = [];
  const keys = Buffer.allocUnsafe(Math.floor(message.length / SIZE_START) * HASH_BYTES);
  let instanceName = '';
  let digestFunction = 0;
  while (reader.pos < reader.len) {
    const tag = shortVarint(message, reader);
    if (tag === DIGEST) digests.push(digestAt(message, reader, keys, digests.length * HASH_BYTES));
    else if (tag === INSTANCE_NAME) instanceName = reader.string();
    else if (tag === DIGEST_FUNCTION) digestFunction = reader.int32();
    else if (tag >>> 3 === 0) throw new Error('a field without a number');
    else reader.skip(tag & 7, tag >>> 3);
    if (digests.length > MESSAGE.maxFields) throw new Error('more digests than a message may have');
  }
  return { instanceName, digests, digestFunction };
}

/** The place in `keys` is its own, and large enough: no usual digest is shorter than what is counted there. */
function digestAt(message: Buffer, reader: BinaryReader, keys: Buffer, keyAt: number): Digest {
  const length = shortVarint(message, reader);
  const start = reader.pos;
  const end = start + length;
  if (end > reader.len) throw new Error('a digest ends beyond the message');
  reader.pos = end;
  return (
    usualDigest(message, start, end, keys, keyAt) ?? parseDigest(unusualDigest(message.subarray(start, end)))
  );
}

/** The tags and lengths that this message has are one byte each, for which the reader is slow. */
function shortVarint(message: Buffer, reader: BinaryReader): number {
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
  return new KeyedDigest(keys, keyAt, size);
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
  return decodeWhole(WireDigest, FLAT, bytes, 'a digest is malformed', 'ASSAY_MESSAGE_MALFORMED');
}
