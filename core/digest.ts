// The address of content: a SHA-256 and a size. Strings from outside become a Hash here or are refused.
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

const HASH_PATTERN = /^[0-9a-f]{64}$/;

export function isHash(text: string): text is Hash {
  return HASH_PATTERN.test(text);
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

/** Digests, each once. One hash with two sizes is two digests: at most one of them can ever be found. */
export class DigestSet {
  private readonly byName = new Map<string, Digest>();

  add(digest: Digest): void {
    this.byName.set(`${digest.hash}/${digest.size}`, digest);
  }

  values(): Digest[] {
    return [...this.byName.values()];
  }
}

/** Of no bytes at all. Written down, so that nothing is hashed before somebody asks for it. */
export const EMPTY: Digest = {
  hash: parseHash('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'),
  size: 0,
};

function clip(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
