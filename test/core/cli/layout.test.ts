// Text is wrapped to the width of the terminal, only between words, and stays as it is where it fits.
import { describe, expect, test } from 'vitest';
import { formatColumns, wrapLine, wrapText } from '../../../core/cli/layout.ts';

const PROSE = 'One two three\nfour five six.\n\nSeven eight:\n    as it is, however long it is\nnine';

test('prose is wrapped by paragraph; indented lines stay', () => {
  expect(wrapText(PROSE, 10).split('\n')).toEqual([
    ...['One two', 'three four', 'five six.', '', 'Seven', 'eight:'],
    ...['    as it is, however long it is', 'nine'],
  ]);
});

test('text that fits stays as written', () => {
  expect(wrapText(PROSE, Number.POSITIVE_INFINITY)).toBe(PROSE);
});

test('a word longer than a line gets its own line', () => {
  expect(wrapText('a incomprehensible b', 5)).toBe('a\nincomprehensible\nb');
});

describe('one line', () => {
  test('is wrapped with an indent for the next lines, and keeps its own', () => {
    expect(wrapLine('assay: one two three four', 14, '       ')).toBe(
      'assay: one two\n       three\n       four',
    );
    expect(wrapLine('  ! one two three', 9, '    ')).toBe('  ! one\n    two\n    three');
  });

  test('that fits stays as it is, also with colours and double spaces', () => {
    const line = 'build  \x1b[32mhit (local)\x1b[0m, saved';
    expect(wrapLine(line, 'build  hit (local), saved'.length, '  ')).toBe(line);
    expect(wrapLine(line, Number.POSITIVE_INFINITY, '  ')).toBe(line);
    expect(wrapLine('build  hit', 9, '  ')).toBe('build \n  hit');
  });
});

describe('two columns', () => {
  const rows = [
    ['--a', 'the first of many letters, and a vowel'],
    ['--letter X', 'short'],
  ] as const;

  test('wrap the second', () => {
    expect(formatColumns(rows, 40)).toBe(
      ['  --a         the first of many letters,', '              and a vowel', '  --letter X  short'].join(
        '\n',
      ),
    );
  });

  test('have a minimum width on a narrow terminal', () => {
    expect(formatColumns(rows, 1).split('\n')[0]).toBe('  --a         the first of many');
  });
});
