// Decodes and encodes a Digest inside a message without making text of its hash. Builds ask for thousands at a time, and
// making the text costs more than finding the blobs (docs/MEASUREMENTS.md#0120).
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import {
  BinaryDigest,
  type Digest,
  HASH_BYTES,
  parseDigest,
  readUsualDigest,
  USUAL_HASH_AT,
  USUAL_SIZE_AT,
  USUAL_SIZE_TAG_AT,
} from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { FLAT } from '../../../core/proto/request-shapes.ts';

/** A tag is a field number and a wire type. */
const HASH = (1 << 3) | WireType.LengthDelimited;
const SIZE = (2 << 3) | WireType.Varint;

const HASH_LENGTH = 2 * HASH_BYTES;

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
const MAX_ENTRY_BYTES = 2 + USUAL_SIZE_AT + 8;

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
  message.write(hash, start + USUAL_HASH_AT, 'latin1');
  return size === 0 ? USUAL_SIZE_TAG_AT : writeSize(message, start, size) - start;
}

/** Returns the end of the digest that begins at `start`. */
function writeSize(message: Buffer, start: number, size: number): number {
  message[start + USUAL_SIZE_TAG_AT] = SIZE;
  let at = start + USUAL_SIZE_AT;
  let rest = size;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) message[at++] = (rest % 0x80) | 0x80;
  message[at] = rest;
  return at + 1;
}

/** The most digests in the usual encoding that a message of this length can contain. */
export function mostDigestsIn(message: Buffer): number {
  return Math.floor(message.length / USUAL_SIZE_TAG_AT);
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
  const size = readUsualDigest(bytes, start, end, keys, keyAt);
  return size === undefined ? undefined : new SentDigest(keys, keyAt, size, bytes, start, end);
}

function unusualDigest(bytes: Buffer): WireDigest {
  return decodeStrict(WireDigest, FLAT, bytes, 'a digest is malformed', 'ASSAY_MESSAGE_MALFORMED');
}
