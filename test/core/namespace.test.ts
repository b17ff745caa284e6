import { describe, expect, test } from 'vitest';
import {
  DEFAULT_NAMESPACE,
  parseNamespace,
  protocolNamespace,
  storedNamespace,
} from '../../core/namespace.ts';

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

describe('a namespace that comes back out of a store', () => {
  const inside = parseNamespace(`team/${'n'.repeat(250)}`);
  test.each([
    '',
    'main/linux',
    protocolNamespace('gradle', DEFAULT_NAMESPACE),
    protocolNamespace('gradle', inside),
    protocolNamespace(`actions/${'0'.repeat(64)}`, inside),
  ])('is one that was written: %s', (text) => {
    expect(storedNamespace(text)).toBe(text);
  });

  test.each(['~', '~/x', '!diverged/', '!diverged/~gradle', 'a~b', '~a/../b', 'a//b', '\u00ff'])(
    'is none: %s',
    (text) => {
      expect(storedNamespace(text)).toBeUndefined();
    },
  );
});
