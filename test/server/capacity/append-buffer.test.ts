import { expect, test } from 'vitest';
import { appendBuffer } from '../../../server/capacity/append-buffer.ts';

test('what a slow client has sent so far keeps no other memory than its own', () => {
  let soFar: Buffer = Buffer.from('a');
  for (const byte of 'bcd') soFar = appendBuffer(soFar, Buffer.from(byte));
  expect(soFar.toString()).toBe('abcd');
  expect(soFar.buffer.byteLength).toBe(soFar.length);
});
