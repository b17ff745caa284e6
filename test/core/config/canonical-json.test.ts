import { expect, test } from 'vitest';
import { canonicalJson } from '../../../core/config/canonical-json.ts';

const BOUNDS = { code: 'ASSAY_BAD_MESSAGE', maxDepth: 10, maxLength: 1000 } as const;
const textOf = (value: unknown) => canonicalJson(value, BOUNDS);

test('keys in another order make the same text', () => {
  const one = { b: [1, { d: null, c: 'x' }], a: true, é: 1, '€': 2 };
  const other = { '€': 2, é: 1, a: true, b: [1, { c: 'x', d: null }] };
  expect(textOf(one)).toBe('{"a":true,"b":[1,{"c":"x","d":null}],"é":1,"€":2}');
  expect(textOf(other)).toBe(textOf(one));
});

/** Values of RFC 8785, 3.2.2 and appendix B. */
test.each<[unknown, string]>([
  [1e21, '1e+21'],
  [0.000001, '0.000001'],
  [1e-7, '1e-7'],
  [-0, '0'],
  [2 ** 53, '9007199254740992'],
  ['\u20ac$\u000f\nA\'B"\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\"/"'],
  [Object.create(null), '{}'],
])('%s is %s', (value, text) => {
  expect(textOf(value)).toBe(text);
});

const cyclic: Record<string, unknown> = {};
cyclic.inner = { cyclic };
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

test.each<[string, unknown, RegExp]>([
  ['undefined', undefined, /the value is of type undefined/],
  ['undefined in an object', { a: [1, undefined] }, /the value\["a"\]\[1\] is of type undefined/],
  ['a hole in a list', new Array(2), /the value\[0\] is of type undefined/],
  ['a function', { a() {} }, /of type function/],
  ['a bigint', [1n], /of type bigint/],
  ['NaN', [Number.NaN], /is NaN/],
  ['Infinity', { a: Infinity }, /is Infinity/],
  ['a date', new Date(0), /instance of a class/],
  ['a map', new Map(), /instance of a class/],
  ['bytes', Buffer.from('a'), /instance of a class/],
  ['a key that is a symbol', { [Symbol('a')]: 1 }, /symbol/],
  ['half a character', '\ud800', /not valid Unicode/],
  ['half a character as a key', { '\ud800': 1 }, /not valid Unicode/],
  ['a value that contains itself', cyclic, /\["inner"\]\["cyclic"\] contains itself/],
  ['too many levels', deep(11), /nests deeper than 10/],
  ['a long text', 'a'.repeat(1001), /longer than 1000/],
  ['many values', Array.from({ length: 600 }, () => 1), /longer than 1000/],
])('%s is refused', (_name, value, why) => {
  expect(() => textOf(value)).toThrow(
    expect.objectContaining({ code: 'ASSAY_BAD_MESSAGE', detail: expect.stringMatching(why) }),
  );
});

test('an object may be in a value twice', () => {
  const shared = { a: 1 };
  expect(textOf([shared, shared])).toBe('[{"a":1},{"a":1}]');
  expect(textOf(deep(10))).toHaveLength(21);
});
