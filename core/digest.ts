// Digest: the SHA-256 and the size of a blob, which together are its address.
// A string from outside becomes a Hash only through this file, which refuses anything else.
import { AssayError } from './errors.ts';
import type { Digest as WireDigest } from './proto/generated/reapi.ts';
import { sha256 } from './sha256.ts';

declare const hashBrand: unique symbol;

/** 64 lower-case hex digits of a SHA-256. */
export type Hash = string & { readonly [hashBrand]: true };

export interface Digest {
  readonly hash: Hash;
  readonly size: number;
}

export const HASH_BYTES = 32;
const HASH_LENGTH = 2 * HASH_BYTES;

const NO_DIGIT = 0xff;
/** The value of the lower-case hex digit with each character code below 128, or NO_DIGIT. */
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;

/** A loop, because every request calls this: a regular expression takes twice as long. */
export function isHash(text: string): text is Hash {
  if (text.length !== HASH_LENGTH) return false;
  for (let at = 0; at < HASH_LENGTH; at++) {
    if ((DIGITS[text.charCodeAt(at)] ?? NO_DIGIT) === NO_DIGIT) return false;
  }
  return true;
}

/**
 * Decodes 64 lower-case hex digits to 32 bytes. Returns false for other characters: then `target` is
 * undefined.
 */
function decodeHash(text: Uint8Array, start: number, target: Uint8Array, at: number): boolean {
  let seen = 0;
  for (let byte = 0; byte < HASH_BYTES; byte++) {
    const high = DIGITS[text[start + 2 * byte] ?? NO_DIGIT] ?? NO_DIGIT;
    const low = DIGITS[text[start + 2 * byte + 1] ?? NO_DIGIT] ?? NO_DIGIT;
    seen |= high | low;
    target[at + byte] = (high << 4) | low;
  }
  return seen < 16;
}

/**
 * A digest with the hash as 32 bytes, which is the store's key. The hex text is made only when it is read:
 * FindMissingBlobs asks for thousands of digests, and most are present.
 */
export class BinaryDigest implements Digest {
  readonly size: number;
  readonly #bytes: Buffer;
  readonly #at: number;

  /** The hash begins at `at` in `bytes`. The caller must not change `bytes` afterwards. */
  constructor(bytes: Buffer, at: number, size: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.size = size;
  }

  get hash(): Hash {
    return this.#bytes.toString('hex', this.#at, this.#at + HASH_BYTES) as Hash;
  }

  copyHash(target: Uint8Array, at = 0): void {
    for (let byte = 0; byte < HASH_BYTES; byte++) target[at + byte] = this.#bytes[this.#at + byte] ?? 0;
  }
}

/** The usual encoding: tag and length of the hash, the hash, the tag of the size, the size unless it is 0. */
const HASH_TAG = 0x0a;
const SIZE_TAG = 0x10;
export const USUAL_HASH_AT = 2;
export const USUAL_SIZE_TAG_AT = USUAL_HASH_AT + HASH_LENGTH;
export const USUAL_SIZE_AT = USUAL_SIZE_TAG_AT + 1;
/** Seven bytes hold sizes up to 2^49. */
const MAX_SIZE_BYTES = 7;

/**
 * Reads a Digest message between `start` and `end` without making text of its hash: returns the size, and writes
 * the hash to `keys` at `keyAt`. Undefined if it is not in the usual encoding; it may be valid all the same.
 */
export function readUsualDigest(
  bytes: Uint8Array,
  start: number,
  end: number,
  keys: Uint8Array,
  keyAt: number,
): number | undefined {
  if (bytes[start] !== HASH_TAG || bytes[start + 1] !== HASH_LENGTH) return undefined;
  const sizeTagAt = start + USUAL_SIZE_TAG_AT;
  const size = sizeTagAt === end ? 0 : sizeAt(bytes, sizeTagAt, end);
  return size !== undefined && decodeHash(bytes, start + USUAL_HASH_AT, keys, keyAt) ? size : undefined;
}

/** Undefined unless the varint after the tag ends exactly at `end`. */
function sizeAt(bytes: Uint8Array, tagAt: number, end: number): number | undefined {
  const length = end - tagAt - 1;
  if (length < 1 || length > MAX_SIZE_BYTES || bytes[tagAt] !== SIZE_TAG) return undefined;
  let value = 0;
  for (let at = end - 1; at > tagAt; at--) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 !== at < end - 1) return undefined;
    value = value * 128 + (byte & 0x7f);
  }
  return value;
}

export function parseHash(text: string): Hash {
  if (!isHash(text))
    throw new AssayError('ASSAY_BAD_DIGEST', `not a SHA-256 in lower-case hex: ${clip(text)}`);
  return text;
}

export function parseDigest(wire: WireDigest): Digest {
  if (!Number.isSafeInteger(wire.sizeBytes) || wire.sizeBytes < 0) {
    throw new AssayError('ASSAY_BAD_DIGEST', `not a size: ${wire.sizeBytes}`);
  }
  return { hash: parseHash(wire.hash), size: wire.sizeBytes };
}

export function toWire(digest: Digest): WireDigest {
  return { hash: digest.hash, sizeBytes: digest.size };
}

export function digestOf(bytes: Uint8Array): Digest {
  return { hash: sha256(bytes) as Hash, size: bytes.byteLength };
}

/** A set of digests. One hash with two sizes is two digests: at most one of them can exist. */
export class DigestSet {
  private readonly byName = new Map<string, Digest>();

  add(digest: Digest): void {
    this.byName.set(`${digest.hash}/${digest.size}`, digest);
  }

  values(): Digest[] {
    return [...this.byName.values()];
  }
}

/** The digest of no bytes. A literal, so that loading this file hashes nothing. */
export const EMPTY: Digest = {
  hash: parseHash('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'),
  size: 0,
};

function clip(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
