// The logs in logs/ are what the tools printed for a project with one fault.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { firstLines } from '../../../client/short/first-lines.ts';

const LOGS = join(import.meta.dirname, 'logs');

const TOLD: Readonly<Record<string, readonly [tool: string, ...lines: string[]]>> = {
  vitest: [
    'vitest',
    ' FAIL  sum.test.mjs > sum > adds two numbers',
    'AssertionError: expected 2 to be 3 // Object.is equality',
    'at sum.test.mjs:2:108',
  ],
  jest: [
    'jest',
    '  ● sum › adds two numbers',
    '    expect(received).toBe(expected) // Object.is equality',
    '    Expected: 3',
    '    Received: 2',
    'at sum.test.js:1:72',
  ],
  pytest: [
    'pytest',
    'test_add',
    'E       assert -1 == 3',
    'E        +  where -1 = add(1, 2)',
    'test_sum.py:3: AssertionError',
  ],
  go: ['go test', '--- FAIL: TestAdd (0.00s)', '    a_test.go:3: got 2, want 3'],
  'go-build': ['go test', './a.go:2:23: undefined: x'],
  'cargo-test': [
    'cargo',
    "thread 'tests::adds' (14221) panicked at src/lib.rs:3:33:",
    'assertion `left == right` failed',
    '  left: -1',
    ' right: 3',
  ],
  'cargo-build': ['cargo', 'error[E0308]: mismatched types', 'at src/lib.rs:1:23'],
  tsc: ['tsc', "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."],
  'tsc-pretty': ['tsc', "a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'."],
  eslint: [
    'eslint',
    "e/a.mjs:1:7  error  'a' is assigned a value but never used  no-unused-vars",
    "e/a.mjs:2:1  error  'foo' is not defined                    no-undef",
  ],
  gcc: ['gcc', 'a.c:1:25: error: ‘x’ undeclared (first use in this function)'],
  ld: ['gcc', 'b.c:(.text+0x5): undefined reference to `f' + "'"],
};

test('every log has a row', () => {
  expect(
    readdirSync(LOGS)
      .map((file) => basename(file, '.log'))
      .sort(),
  ).toEqual(Object.keys(TOLD).sort());
});

test.each(Object.entries(TOLD))('the first lines of %s are its own message', (name, [tool, ...lines]) => {
  const log = stripVTControlCharacters(readFileSync(join(LOGS, `${name}.log`), 'utf8'));
  const noise = Array.from({ length: 500 }, (_, index) => `line ${index}: nothing`).join('\n');
  const found = firstLines(`${noise}\n${log}`, '/work/app');
  expect(found).toMatchObject({ tool, lines });
  expect(found.failures).toBe(tool === 'eslint' ? 2 : 1);
});

test('a log that nothing recognises gives lines that tell of an error, and the last ones', () => {
  const noise = Array.from({ length: 50 }, (_, index) => `line ${index}`);
  const { lines, tool } = firstLines([...noise, 'no such thing: x', ...noise, 'the end'].join('\n'), '/w');
  expect(tool).toBeUndefined();
  expect(lines).toEqual(['no such thing: x', 'line 48', 'line 49', 'the end']);
});
