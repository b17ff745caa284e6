// FastCDC 2020 cuts at the points of the specification, compared with a slow version in 64-bit numbers.
// REAPI's published vectors (seed 0) gave the right six chunks too. Their input is an image that is not ours
// to copy, so they are not repeated here.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { firstChunkLength, REAPI_CHUNKING } from '../../core/fastcdc.ts';
import { noise } from '../rig/random.ts';

const WORD = (1n << 64n) - 1n;
const STRICT = 0x0000d91767537000n;
const LENIENT = 0x0000d90703537000n;

/** REAPI's table, of which the first number is known from the reference. */
const GEAR = Array.from({ length: 256 }, (_, byte) =>
  createHash('md5').update(Buffer.alloc(64, byte)).digest().readBigUInt64BE(),
);

function slowCut(bytes: Buffer): number {
  const end = Math.min(bytes.length, REAPI_CHUNKING.maxBytes);
  if (end <= REAPI_CHUNKING.minBytes) return end;
  let hash = 0n;
  for (let at = REAPI_CHUNKING.minBytes; at < end - (end % 2); at++) {
    hash = ((hash << 1n) + (GEAR[bytes[at] ?? 0] ?? 0n)) & WORD;
    const mask = at < Math.min(end, REAPI_CHUNKING.averageBytes) ? STRICT : LENIENT;
    if ((hash & mask) === 0n) return at;
  }
  return end;
}

test('the gear table begins like the reference implementation’s', () => {
  expect(GEAR[0]).toBe(0x3b5d3c7d207e37dcn);
  expect(GEAR[255]).toBe(0xaabd2b2a451504e1n);
});

const SEED = 41;

test(`cuts where the specification says, seed ${SEED}`, () => {
  const bytes = noise(SEED, 6 * 1024 * 1024);
  for (let at = 0; at < bytes.length; ) {
    const rest = bytes.subarray(at, at + REAPI_CHUNKING.maxBytes);
    const length = firstChunkLength(rest, REAPI_CHUNKING);
    expect(length).toBe(slowCut(rest));
    expect(length).toBeGreaterThan(0);
    at += length;
  }
});

test('without a cut point a chunk has the maximum size, and a small blob is one chunk', () => {
  expect(firstChunkLength(Buffer.alloc(3 * 1024 * 1024), REAPI_CHUNKING)).toBe(REAPI_CHUNKING.maxBytes);
  expect(firstChunkLength(Buffer.alloc(1000), REAPI_CHUNKING)).toBe(1000);
});
