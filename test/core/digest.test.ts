import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type Digest,
  DigestSet,
  digestOf,
  EMPTY,
  isHash,
  parseDigest,
  parseHash,
  toWire,
} from '../../core/digest.ts';

const HASH = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

describe('the digest of content', () => {
  test('is its SHA-256 and its size', () => {
    expect(digestOf(Buffer.from('abc'))).toEqual({ hash: HASH, size: 3 });
    expect(EMPTY).toEqual({
      hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      size: 0,
    });
  });

  test('counts the bytes of a view, not of its buffer', () => {
    const view = Buffer.from('xxabcxx').subarray(2, 5);
    expect(digestOf(view)).toEqual({ hash: HASH, size: 3 });
  });

  test('is right for every length of content', () => {
    const bytes = Buffer.alloc(300_000, 'assay');
    const lengths = [...Array(300).keys(), 4_095, 4_096, 4_097, 65_536, 300_000];
    for (const length of lengths) {
      const part = bytes.subarray(0, length);
      expect(digestOf(part).hash).toBe(createHash('sha256').update(part).digest('hex'));
    }
  });
});

describe('a digest from outside', () => {
  test.each([
    '',
    HASH.slice(1),
    `${HASH}0`,
    HASH.toUpperCase(),
    ` ${HASH.slice(1)}`,
    `${HASH}\n`,
    'g'.repeat(64),
    '../'.repeat(21).padEnd(64, 'a'),
  ])('%j is no hash', (text) => {
    expect(isHash(text)).toBe(false);
    expect(() => parseHash(text)).toThrow(/ASSAY_BAD_DIGEST/);
    expect(() => parseDigest({ hash: text, sizeBytes: 1 })).toThrow(/ASSAY_BAD_DIGEST/);
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('%d is no size', (sizeBytes) => {
    expect(() => parseDigest({ hash: HASH, sizeBytes })).toThrow(/ASSAY_BAD_DIGEST/);
  });

  test('is encoded and decoded without loss', () => {
    const digest = digestOf(Buffer.from('abc'));
    expect(parseDigest(toWire(digest))).toEqual(digest);
  });

  test('is quoted only in part when it is refused', () => {
    expect(() => parseHash('x'.repeat(10_000))).toThrow(/^.{0,200}$/);
  });
});

test('a set of digests keeps one hash with two sizes apart', () => {
  const digest = digestOf(Buffer.from('abc'));
  const wrong: Digest = { hash: digest.hash, size: 4 };
  const set = new DigestSet();
  for (const one of [digest, wrong, { ...digest }]) set.add(one);
  expect(set.values()).toEqual([digest, wrong]);
});
