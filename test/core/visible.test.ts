import { expect, test } from 'vitest';
import { visible, visibleLines } from '../../core/text/visible.ts';

test('shows what nobody sees by its code point, and leaves all other text alone', () => {
  expect(visible('a\u202eb\u2066c\u200bd')).toBe('a\\u{202e}b\\u{2066}c\\u{200b}d');
  expect(visible('\u001b[2Jx\r\ny\u2028z')).toBe('\\u{1b}[2Jx\\u{d}\\u{a}y\\u{2028}z');
  expect(visible('half \ud800 of a pair')).toBe('half \\u{d800} of a pair');
  expect(visible('naïve 名前 עברית 🎉 "<&>"')).toBe('naïve 名前 עברית 🎉 "<&>"');
});

test('keeps the line feeds of text of several lines', () => {
  expect(visibleLines('one\ntwo\r\nthree\u202e')).toBe('one\ntwo\\u{d}\nthree\\u{202e}');
});
