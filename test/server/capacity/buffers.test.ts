import { expect, test } from 'vitest';
import { appendBuffer } from '../../../server/capacity/buffers.ts';

test('an appended buffer shares its memory with no other buffer', () => {
  let soFar: Buffer = Buffer.from('a');
  for (const byte of 'bcd') soFar = appendBuffer(soFar, Buffer.from(byte));
  expect(soFar.toString()).toBe('abcd');
  expect(soFar.buffer.byteLength).toBe(soFar.length);
});
