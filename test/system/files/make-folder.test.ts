// makeFolder ends where Node's recursive mkdir does not, and otherwise does the same.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeFolder } from '../../../system/files/make-folder.ts';
import { sourcesOf } from '../../project/sources.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

test('makes a folder with its parents, and accepts one that exists', () => {
  const deep = join(folder, 'a/b/c');
  makeFolder(deep);
  makeFolder(deep);
  expect(statSync(deep).isDirectory()).toBe(true);
});

test('gives every new folder the mode, and leaves others as they are', () => {
  mkdirSync(join(folder, 'open'), 0o755);
  makeFolder(join(folder, 'open/a/b'), 0o700);
  const modes = ['open', 'open/a', 'open/a/b'].map((path) => statSync(join(folder, path)).mode & 0o777);
  expect(modes).toEqual([0o755, 0o700, 0o700]);
});

test('accepts names that are not UTF-8', () => {
  const path = Buffer.from(`${folder}/\xff/\xfe`, 'latin1');
  makeFolder(path);
  expect(statSync(path).isDirectory()).toBe(true);
});

test('accepts a link to a folder, and refuses a file or a link to nothing', () => {
  mkdirSync(join(folder, 'real'));
  symlinkSync('real', join(folder, 'link'));
  makeFolder(join(folder, 'link/a'));
  expect(existsSync(join(folder, 'real/a'))).toBe(true);
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('nothing', join(folder, 'dangling'));
  expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(folder, 'file/a'))).toThrow('ENOTDIR');
  expect(() => makeFolder(join(folder, 'dangling/a'))).toThrow('EEXIST');
});

test.each(['/proc/none', '/proc/none/a/b', '/proc/self/none'])(
  'refuses %s, where no folder can be made',
  (path) => {
    expect(() => makeFolder(path)).toThrow('ENOENT');
  },
);

test('no source uses Node’s recursive mkdir', () => {
  const sources = ['bin', 'client', 'core', 'hermeticity', 'server', 'store', 'system'].flatMap(sourcesOf);
  expect(sources.length).toBeGreaterThan(100);
  const users = sources.filter((path) => /\bmkdir(?:Sync)?\([^;]*recursive/.test(readFileSync(path, 'utf8')));
  expect(users).toEqual([]);
});
