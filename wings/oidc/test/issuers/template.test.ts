// A claim in a namespace: no value leaves its part, and no two values give the same one.
import { describe, expect, test } from 'vitest';
import { parseNamespace } from '../../../../core/namespace.ts';
import { Random } from '../../../../test/rig/random.ts';
import { soak } from '../../../../test/rig/soak.ts';
import { fillTemplate, namespacePart, parseTemplate } from '../../issuers/template.ts';

const ESCAPES = [
  '/',
  '.',
  '..',
  '../main',
  '../../other/main',
  'a/../../b',
  'a/b',
  'a_2fb',
  'a_b',
  '_',
  '__',
  'pr',
  'pr/5',
  '/pr/5',
  'PR',
  '_70r',
  'main',
  'main/',
  '/main',
  'main\0',
  'main\n',
  ' main',
  '%2e%2e',
  '~s3',
  '=',
  '...',
  '.git',
  'é',
  'e\u0301',
  '\u202emain',
  '𝓂ain',
  'x'.repeat(64),
  'x'.repeat(65),
  'x'.repeat(4000),
  `${'x'.repeat(4000)}y`,
  '/'.repeat(21),
  '/'.repeat(22),
  '__-'.repeat(40),
];

describe('a claim in a namespace', () => {
  test.each(ESCAPES)('%j is one part that is not special', (value) => {
    const part = namespacePart(value);
    expect(part).toMatch(/^[0-9A-Za-z_.-]{1,64}$/);
    expect(['.', '..', 'pr']).not.toContain(part);
    expect(parseNamespace(`acme/branch/${part}`)).toBe(`acme/branch/${part}`);
  });

  test('gives another part for each value', () => {
    expect(new Set(ESCAPES.map(namespacePart)).size).toBe(ESCAPES.length);
  });

  test('keeps a plain name readable', () => {
    expect(['main', 'release-1.2', 'feature/login'].map(namespacePart)).toEqual([
      'main',
      'release-1.2',
      'feature_2flogin',
    ]);
  });

  const seed = 20_261_117;
  test(`gives another part for each of many random values, seed ${seed}`, () => {
    const random = new Random(seed);
    const letters = ['_', '-', '/', '.', 'p', 'r', '2', 'f', 'é', '5'];
    const values = new Set<string>();
    for (let count = 0; count < soak(100_000); count++) {
      const length = 1 + random.below(random.below(10) === 0 ? 90 : 6);
      values.add(Array.from({ length }, () => random.pick(letters)).join(''));
    }
    const parts = [...values].map(namespacePart);
    expect(new Set(parts).size).toBe(values.size);
    expect(parts.filter((part) => !/^(?!\.{1,2}$|pr$)[0-9A-Za-z_.-]{1,64}$/.test(part))).toEqual([]);
  });
});

describe('a template', () => {
  test('takes claims of texts and numbers, and nothing else', () => {
    const template = parseTemplate('acme/{id}/{ref}');
    expect(fillTemplate(template, { id: 5, ref: 'refs/heads/x' })).toBe('acme/5/refs_2fheads_2fx');
    for (const ref of [undefined, null, '', [], ['x'], {}, 1.5, Number.NaN, 'x\ud800'])
      expect(fillTemplate(template, { id: 5, ref })).toBeUndefined();
    expect(fillTemplate(parseTemplate('acme/{toString}'), {})).toBeUndefined();
    expect(fillTemplate(parseTemplate('acme/{__proto__}'), {})).toBeUndefined();
  });

  test.each([
    ['acme/x-{ref}', 'whole part'],
    ['acme/{ref}{sha}', 'whole part'],
    ['acme/{}', 'whole part'],
    ['acme/pr/{ref}', 'kept for pull requests'],
    ['pr', 'kept for pull requests'],
    ['acme/../x', 'letters, digits'],
    ['/acme', 'letters, digits'],
    ['acme/', 'letters, digits'],
    ['acme/a b', 'letters, digits'],
    ['~s3/acme', 'letters, digits'],
    [`acme/${'x'.repeat(180)}`, 'more than 180'],
    ['acme/{a}/{b}/{c}', 'more than 180'],
  ])('%j is refused', (text, why) => {
    expect(() => parseTemplate(text)).toThrow(why);
  });
});
