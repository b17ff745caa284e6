// A digest of mise's protocol: an algorithm, a hash and a size. A text from outside becomes one only here.
import { isHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { fieldOf } from '../../server/http/json.ts';

export const ALGORITHMS = ['blake3', 'sha256'] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

export interface MiseDigest {
  readonly algorithm: Algorithm;
  /** 64 lower-case hex digits. */
  readonly hash: string;
  readonly size: number;
}

/** Of a URL: /ALGORITHM/HASH/SIZE. */
export interface DigestParams {
  readonly algorithm: string;
  readonly hash: string;
  readonly size: string;
}

export function parseDigestParams({ algorithm, hash, size }: DigestParams): MiseDigest {
  if (!/^(0|[1-9]\d{0,15})$/.test(size)) throw badDigest(`the size ${JSON.stringify(size.slice(0, 40))}`);
  return checkedDigest(algorithm, hash, Number(size));
}

/** Of a message. Fields that it does not know are refused: an object with other fields has another meaning. */
export function parseDigestField(value: unknown): MiseDigest {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 3)
    throw badDigest('it is an object with algorithm, hash and size');
  return checkedDigest(fieldOf(value, 'algorithm'), fieldOf(value, 'hash'), fieldOf(value, 'size'));
}

/** One text for each digest. */
export function textOf({ algorithm, hash, size }: MiseDigest): string {
  return `${algorithm}/${hash}/${size}`;
}

function checkedDigest(algorithm: unknown, hash: unknown, size: unknown): MiseDigest {
  const known = ALGORITHMS.find((one) => one === algorithm);
  if (!known) throw badDigest(`the algorithms are ${ALGORITHMS.join(' and ')}`);
  if (typeof hash !== 'string' || !isHash(hash)) throw badDigest('the hash is 64 lower-case hex digits');
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw badDigest('the size is a whole number');
  return { algorithm: known, hash, size };
}

function badDigest(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `not a digest of this protocol: ${why}`);
}
