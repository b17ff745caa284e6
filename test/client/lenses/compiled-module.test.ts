// A compiled Python module counts by its source only if it was made from it: Python itself trusts size and mtime.
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compiledState } from '../../../client/lenses/compiled-module.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

const TICK_MS = 25;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-compiled-'));
  mkdirSync(join(folder, '__pycache__'));
  source('VALUE = 1\n');
});

afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const PYC = '__pycache__/m.cpython-311.pyc';

function source(text: string): void {
  writeFileSync(at('m.py'), text);
}

/** The clock of a file system goes on in ticks: what comes later must have another ctime. */
function laterThan(path: string): void {
  const { ctimeMs } = statSync(path);
  for (let now = ctimeMs; now <= ctimeMs + TICK_MS; now = statSync(at('clock')).ctimeMs)
    writeFileSync(at('clock'), '');
}

interface Header {
  readonly flags?: number;
  readonly magic?: number;
  readonly name?: string;
}

/** Made from m.py as it is now. */
function compile({ flags = 0, magic = 3495, name = PYC }: Header = {}): void {
  const { mtimeMs, size } = statSync(at('m.py'));
  const header = Buffer.alloc(16);
  header.writeUInt16LE(magic, 0);
  header.write('\r\n', 2);
  header.writeUInt32LE(flags, 4);
  header.writeUInt32LE(Math.trunc(mtimeMs / 1000), 8);
  header.writeUInt32LE(size, 12);
  laterThan(at('m.py'));
  writeFileSync(at(name), Buffer.concat([header, Buffer.from('code')]));
}

function state(lens: 'pyc-source-1' | 'pyc-bytes-1' = 'pyc-source-1', name = PYC): string {
  return compiledState(absPath(at(name)), lens, () => 'file HASH');
}

test('a module that was made from its source is the same as none', () => {
  expect(state()).toBe('compiled');
  compile();
  expect(state()).toBe('compiled');
  compile({ name: '__pycache__/m.cpython-311.opt-1.pyc' });
  expect(state('pyc-source-1', '__pycache__/m.cpython-311.opt-1.pyc')).toBe('compiled');
});

test('whoever reads its bytes gets its bytes', () => {
  compile();
  expect(state('pyc-bytes-1')).toBe('fits file HASH');
});

test('an edit that keeps size and mtime counts by the bytes', () => {
  compile();
  const { mtime } = statSync(at('m.py'));
  laterThan(at(PYC));
  source('VALUE = 2\n');
  utimesSync(at('m.py'), mtime, mtime);
  expect(state()).toBe('fits file HASH');
});

test('an edit within the second of the source counts by the bytes', () => {
  compile();
  const { mtimeMs } = statSync(at('m.py'));
  laterThan(at(PYC));
  source('VALUE = 2\n');
  const sameSecond = (Math.trunc(mtimeMs / 1000) * 1000 + 999) / 1000;
  utimesSync(at('m.py'), sameSecond, sameSecond);
  expect(state()).toBe('fits file HASH');
});

test('a source that another file with an old mtime replaced counts by the bytes', () => {
  compile();
  const { mtime } = statSync(at('m.py'));
  laterThan(at(PYC));
  writeFileSync(at('old.py'), 'VALUE = 3\n');
  utimesSync(at('old.py'), mtime, mtime);
  renameSync(at('old.py'), at('m.py'));
  expect(state()).toBe('fits file HASH');
});

test('a source that became a link to an old file counts by the bytes', () => {
  const { mtime } = statSync(at('m.py'));
  writeFileSync(at('old.py'), 'VALUE = 4\n');
  utimesSync(at('old.py'), mtime, mtime);
  compile();
  laterThan(at(PYC));
  rmSync(at('m.py'));
  symlinkSync('old.py', at('m.py'));
  expect(state()).toBe('fits file HASH');
});

test('a module that Python would make again is told from one that it would use', () => {
  compile();
  source('VALUE = 10\n');
  expect(state()).toBe('stale file HASH');
  expect(state('pyc-bytes-1')).toBe('stale file HASH');
});

test('without its source, Python does not look for it', () => {
  compile();
  rmSync(at('m.py'));
  expect(state()).toBe('stale file HASH');
});

test.each([
  ['an unchecked hash', { flags: 1 }],
  ['a checked hash', { flags: 3 }],
])('%s depends on no times', (_, header) => {
  compile(header);
  expect(state()).toBe('file HASH');
});

test('a file that is no compiled module counts by its bytes', () => {
  compile();
  writeFileSync(at(PYC), 'torn');
  expect(state()).toBe('file HASH');
  writeFileSync(at(PYC), Buffer.alloc(64));
  expect(state()).toBe('file HASH');
});

test('a __pycache__ or a module that is a link counts by its bytes', () => {
  compile();
  mkdirSync(at('other'));
  renameSync(at('__pycache__'), at('other/__pycache__'));
  symlinkSync('other/__pycache__', at('__pycache__'));
  expect(state()).toBe('file HASH');
  rmSync(at('__pycache__'));
  mkdirSync(at('__pycache__'));
  symlinkSync(`../other/${PYC}`, at(PYC));
  expect(state()).toBe('file HASH');
});

test('the mark of pytest is no part of the name of the source', () => {
  const name = '__pycache__/m.cpython-311-pytest-7.2.1.pyc';
  compile({ name });
  expect(state('pyc-bytes-1', name)).toBe('fits file HASH');
  source('VALUE = 10\n');
  expect(state('pyc-bytes-1', name)).toBe('stale file HASH');
});

test('a source with a second name is as old as its last change', () => {
  compile();
  laterThan(at(PYC));
  linkSync(at('m.py'), at('second.py'));
  expect(state()).toBe('fits file HASH');
});
