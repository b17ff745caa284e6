import { describe, expect, test } from 'vitest';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../core/namespace.ts';

describe('a namespace', () => {
  test.each(['main', 'team/main', 'a.b-c_D/0', 'x'.repeat(255), '...'])('%j is one', (text) => {
    expect(parseNamespace(text)).toBe(text);
  });

  test('is the default one when it is empty', () => {
    expect(parseNamespace('')).toBe(DEFAULT_NAMESPACE);
  });

  test.each([
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    'a/./b',
    'a b',
    'a\0',
    'a\n',
    'é',
    'a%2fb',
    'a\\b',
    'a:b',
    'x'.repeat(256),
  ])('%j is none', (text) => {
    expect(() => parseNamespace(text)).toThrow(/ASSAY_BAD_NAMESPACE/);
  });
});
