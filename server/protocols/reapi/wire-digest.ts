// Decodes and encodes a Digest inside a message without making text of its hash. Builds ask for thousands at a time, and
// making the text costs more than finding the blobs (docs/MEASUREMENTS.md#0120).
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { BinaryDigest, type Digest, decodeHash, HASH_BYTES, parseDigest } from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { FLAT } from '../../../core/request-shapes.ts';

/** A tag is a field number and a wire type. */
const HASH = (1 << 3) | WireType.LengthDelimited;
const SIZE = (2 << 3) | WireType.Varint;

const HASH_LENGTH = 2 * HASH_BYTES;
/** The usual encoding: tag and length of the hash, the hash, the tag of the size, the size. */
const HASH_START = 2;
const SIZE_TAG_AT = HASH_START + HASH_LENGTH;
const SIZE_START = SIZE_TAG_AT + 1;
/** Seven bytes hold sizes up to 2^49. */
const MAX_SIZE_BYTES = 7;

/** A digest that a client sent in the usual encoding, and its place in the message. An answer repeats it. */
class SentDigest extends BinaryDigest {
  readonly #message: Buffer;
  readonly #start: number;
  readonly #end: number;

  constructor(keys: Buffer, keyAt: number, size: number, message: Buffer, start: number, end: number) {
    super(keys, keyAt, size);
    this.#message = message;
    this.#start = start;
    this.#end = end;
  }

  /** Returns its length. */
  copy(target: Buffer, at: number): number {
    return this.#message.copy(target, at, this.#start, this.#end);
  }
}

/** The tag and the length of a digest, and the digest in the usual encoding with a size below 2^53. */
const MAX_ENTRY_BYTES = 2 + SIZE_START + 8;

/** A message whose only field is a list of digests, with that tag. */
export function encodeDigests(tag: number, digests: readonly Digest[]): Buffer {
  const message = Buffer.allocUnsafe(digests.length * MAX_ENTRY_BYTES);
  let at = 0;
  for (const digest of digests) {
    const start = at + 2;
    const end =
      start + (digest instanceof SentDigest ? digest.copy(message, start) : write(digest, message, start));
    message[at] = tag;
    message[at + 1] = end - start;
    at = end;
  }
  return message.subarray(0, at);
}

/** Returns the length of the digest. */
function write({ hash, size }: Digest, message: Buffer, start: number): number {
  message[start] = HASH;
  message[start + 1] = HASH_LENGTH;
  message.write(hash, start + HASH_START, 'latin1');
  return size === 0 ? SIZE_TAG_AT : writeSize(message, start, size) - start;
}

/** Returns the end of the digest that begins at `start`. */
function writeSize(message: Buffer, start: number, size: number): number {
  message[start + SIZE_TAG_AT] = SIZE;
  let at = start + SIZE_START;
  let rest = size;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) message[at++] = (rest % 0x80) | 0x80;
  message[at] = rest;
  return at + 1;
}

/** The most digests in the usual encoding that a message of this length can contain. */
export function mostDigestsIn(message: Buffer): number {
  return Math.floor(message.length / SIZE_START);
}

/**
 * Reads a digest. The reader is before its length, and afterwards behind the digest. The hash is written to
 * `keys` at `keyAt`, which the caller must not reuse.
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

/** Reads a varint of one byte, as most tags and lengths are, faster than the reader does. */
export function readShortVarint(message: Buffer, reader: BinaryReader): number {
  const byte = message[reader.pos] ?? 0x80;
  if (byte >= 0x80) return reader.uint32();
  reader.pos++;
  return byte;
}

/** Undefined for a digest that is not in the usual encoding: the hash, then the size, nothing else. */
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
  return new SentDigest(keys, keyAt, size, bytes, start, end);
}

/** Undefined unless the varint ends exactly at `end`. */
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
