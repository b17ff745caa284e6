import { expect, test, vi } from 'vitest';
import { STORE } from '../../../store/limits.ts';

// A pool of its own: stores of other test files, in the same process, hold buffers of the common one.
vi.resetModules();
const { acquireBuffer, isPooled, releaseBuffer } = await import('../../../store/shared/buffers.ts');

test('released buffers are used again, each by one holder at a time', () => {
  const taken = Array.from({ length: STORE.pooledBuffers + 2 }, () => acquireBuffer());
  const places = new Set(
    taken.map(({ buffer, byteOffset }) => (buffer.byteLength === STORE.chunkBytes ? buffer : byteOffset)),
  );
  expect(places.size).toBe(taken.length);
  for (const buffer of taken) releaseBuffer(buffer.subarray(0, 10));
  const again = Array.from({ length: STORE.pooledBuffers }, () => acquireBuffer());
  expect(
    again.every(({ length, buffer }) => length === STORE.chunkBytes && buffer === again[0]?.buffer),
  ).toBe(true);
  for (const buffer of again) releaseBuffer(buffer);
});

test('a buffer of two chunks shares its memory with no other, and is released as two', () => {
  const singles = Array.from({ length: 3 }, () => acquireBuffer());
  const pairs = Array.from({ length: STORE.pooledBuffers / 2 - 2 }, () => acquireBuffer(2));
  expect(pairs.every((pair) => pair.length === 2 * STORE.chunkBytes)).toBe(true);
  const last = acquireBuffer(2);
  expect(last.length).toBe(STORE.chunkBytes);
  expect(isPooled(last)).toBe(true);
  expect(isPooled(acquireBuffer())).toBe(false);
  const chunks = [...singles, ...pairs, last].flatMap(({ byteOffset, length }) =>
    Array.from({ length: length / STORE.chunkBytes }, (_, chunk) => byteOffset + chunk * STORE.chunkBytes),
  );
  expect(new Set(chunks).size).toBe(STORE.pooledBuffers);
  for (const buffer of [...singles, ...pairs, last]) releaseBuffer(buffer.subarray(0, 10));
  const again = Array.from({ length: STORE.pooledBuffers }, () => acquireBuffer());
  expect(again.every(isPooled)).toBe(true);
  for (const buffer of again) releaseBuffer(buffer);
});
