// Text fits the columns that there are, breaks only between words, and is left alone where there is room.
import { describe, expect, test } from 'vitest';
import { formatColumns, wrapText } from '../../../core/cli/layout.ts';

const PROSE = 'One two three\nfour five six.\n\nSeven eight:\n    as it is, however long it is\nnine';

test('prose flows anew, paragraph by paragraph; what is indented stays', () => {
  expect(wrapText(PROSE, 10).split('\n')).toEqual([
    ...['One two', 'three four', 'five six.', '', 'Seven', 'eight:'],
    ...['    as it is, however long it is', 'nine'],
  ]);
});

test('what fits stays as it was written', () => {
  expect(wrapText(PROSE, Number.POSITIVE_INFINITY)).toBe(PROSE);
});

test('a word that is longer than a line has its own', () => {
  expect(wrapText('a incomprehensible b', 5)).toBe('a\nincomprehensible\nb');
});

describe('two columns', () => {
  const rows = [
    ['--a', 'the first of many letters, and a vowel'],
    ['--letter X', 'short'],
  ] as const;

  test('go on below the second', () => {
    expect(formatColumns(rows, 40)).toBe(
      ['  --a         the first of many letters,', '              and a vowel', '  --letter X  short'].join(
        '\n',
      ),
    );
  });

  test('keep some room on the narrowest terminal', () => {
    expect(formatColumns(rows, 1).split('\n')[0]).toBe('  --a         the first of many');
  });
});
