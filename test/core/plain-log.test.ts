// A log as plain text for a page.
import { expect, test } from 'vitest';
import { multiline } from '../../core/html/html.ts';
import { plainLog } from '../../core/text/plain-log.ts';

test.each([
  ['\x1b[1;31mFAIL\x1b[0m a\r\nb\r\n', 'FAIL a\nb\n'],
  ['10 %\r50 %\r100 %\ndone', '100 %\ndone'],
  ['\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\', 'textlink'],
  ['\x1b(B\x1b7x\x1b8\x1b[?25l\x1b[2K', 'x'],
])('%j is %j', (log, text) => {
  expect(plainLog(log)).toBe(text);
});

test('what is left on a page has no control character and no markup, whatever was printed', () => {
  const bytes = Array.from({ length: 0x2100 }, (_, at) => String.fromCharCode(at)).join('');
  const endless = `\x1b]${'x'.repeat(200_000)}`;
  for (const log of [bytes, `${bytes}\x1b[`, '\x1b[9'.repeat(50_000), endless, '\x1b \x1b'.repeat(9999)]) {
    const { text } = multiline(plainLog(`${log}<script>`));
    expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|<script/u);
  }
});
