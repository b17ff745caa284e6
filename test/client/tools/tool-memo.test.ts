// Tool lookups within one process: packages share what lies behind their own programs, and each finds its own first.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ToolMemo } from '../../../client/tools/tool-memo.ts';
import { EMPTY } from '../../../core/digest.ts';

let folder: string;
let memo: ToolMemo;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-tools-')));
  memo = new ToolMemo(join(folder, 'workspace'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

function found(name: string, ...packages: readonly string[]) {
  const own = packages.map((one) => join(folder, 'workspace', one, 'node_modules/.bin'));
  const path = [...own, join(folder, 'bin'), '/usr/bin'].join(':');
  return memo.resolve(name, { path, folder, digests: { digest: () => EMPTY } });
}

test('packages share a tool that none of them has', () => {
  program('bin/tool', 'x');
  expect(found('tool', 'packages/a', '')).toBe(found('tool', 'packages/b', ''));
});

test('a package’s own program comes first, also if it appears later', () => {
  program('bin/tool', 'x');
  found('tool', 'packages/a', '');
  const own = program('workspace/packages/b/node_modules/.bin/tool', 'y');
  expect(found('tool', 'packages/b', '').file).toBe(own);
  const later = program('workspace/node_modules/.bin/tool', 'z');
  expect(found('tool', 'packages/a', '').file).toBe(later);
});

test('the program that env searches for a shared script may be the package’s own', () => {
  program('bin/script', '#!/usr/bin/env runs-it\n');
  const shared = program('bin/runs-it', 'x');
  const own = program('workspace/packages/b/node_modules/.bin/runs-it', 'y');
  const files = (one: string) => found('script', one).interpreters.map(({ file }) => file);
  expect(files('packages/a')).toEqual(['/usr/bin/env', shared]);
  expect(files('packages/b')).toEqual(['/usr/bin/env', own]);
});
