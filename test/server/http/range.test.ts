import { expect, test } from 'vitest';
import { parseRange } from '../../../server/http/range.ts';

test.each([
  ['bytes=0-0', { offset: 0, length: 1 }],
  ['bytes=0-9', { offset: 0, length: 10 }],
  ['bytes=0-', { offset: 0, length: 10 }],
  ['bytes=3-5', { offset: 3, length: 3 }],
  ['bytes=3-500', { offset: 3, length: 7 }],
  ['bytes=-3', { offset: 7, length: 3 }],
  ['bytes=-300', { offset: 0, length: 10 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=10-20', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  [`bytes=${'9'.repeat(40)}-`, 'unsatisfiable'],
  [undefined, undefined],
  ['', undefined],
  ['bytes=-', undefined],
  ['bytes=5-3', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=a-b', undefined],
  ['bytes= 0-1', undefined],
  ['bits=0-1', undefined],
  ['bytes=1.5-2', undefined],
])('%s of 10 bytes', (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

test('a range of an empty blob is unsatisfiable', () => {
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=-1', 0)).toBe('unsatisfiable');
});
