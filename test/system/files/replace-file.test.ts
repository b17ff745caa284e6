// A file is replaced as a whole, and a failure leaves the old one and nothing else.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceFile } from '../../../system/files/replace-file.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('the new content stands alone, with the mode that was asked for', () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'old');
  replaceFile(file, 'new', 0o600);
  expect(readdirSync(folder)).toEqual(['file']);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('what a killed process left is replaced, and a link there is not followed', () => {
  const file = join(folder, 'file');
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'untouched');
  symlinkSync(victim, `${file}.${process.pid}.tmp`);
  replaceFile(file, 'new');
  writeFileSync(`${file}.${process.pid}.tmp`, 'torn');
  replaceFile(file, Buffer.from('newer'));
  expect(readdirSync(folder).sort()).toEqual(['file', 'victim']);
  expect([readFileSync(file, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['newer', 'untouched']);
});

test('a failure leaves what was there', () => {
  const file = join(folder, 'file');
  mkdirSync(join(file, 'inside'), { recursive: true });
  expect(() => replaceFile(file, 'new')).toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(['file']);
  expect(existsSync(join(file, 'inside'))).toBe(true);
});
