// `assay init --agents` writes its own section of AGENTS.md and leaves all else as it is.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withSection, writeAgentsSection } from '../agents-section.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'assay-test-')));
});
afterEach(() => rmSync(root, { recursive: true }));

const file = () => join(root, 'AGENTS.md');
const text = () => readFileSync(file(), 'utf8');

test('it creates the file, and a second run changes nothing', () => {
  expect(writeAgentsSection(root)).toBe('created');
  for (const words of ['--json=short', 'receipt', 'assay mcp', '"args": ["mcp"]', 'assay status --json'])
    expect(text().replaceAll('`', '')).toContain(words);
  const before = text();
  expect([writeAgentsSection(root), text()]).toEqual(['unchanged', before]);
});

test.each([
  ['without a last line end', '# Ours\n\nUse tabs.'],
  ['with one', '# Ours\n'],
  ['with CRLF', '# Ours\r\n\r\nUse tabs.\r\n'],
  ['empty', ''],
])('what a person wrote stays: %s', (_, own) => {
  writeFileSync(file(), own);
  expect(writeAgentsSection(root)).toBe('added');
  expect(text().startsWith(own)).toBe(true);
  if (own.includes('\r')) expect(text().replaceAll('\r\n', '')).not.toContain('\n');
  writeFileSync(file(), `${text().replace('Builds and tests run', 'An older text runs')}after it`);
  expect(writeAgentsSection(root)).toBe('updated');
  expect(text()).toBe(`${withSection(own)}after it`);
});

test('markers that are no pair are refused, and nothing is written', () => {
  const [begin = '', end = ''] = withSection('')
    .split('\n')
    .filter((line) => line.startsWith('<!--'));
  for (const wrong of [begin, end, `${end}\n${begin}`, `${begin}\n${begin}\n${end}`]) {
    writeFileSync(file(), wrong);
    expect(() => writeAgentsSection(root)).toThrow(/needs one line/);
    expect(text()).toBe(wrong);
  }
});

test('a link inside the folder stays one; another one, a folder and bytes are refused', () => {
  const workspace = join(root, 'workspace');
  mkdirSync(workspace);
  const link = join(workspace, 'AGENTS.md');
  writeFileSync(join(workspace, 'CLAUDE.md'), '# Ours\n');
  symlinkSync('CLAUDE.md', link);
  expect(writeAgentsSection(workspace)).toBe('added');
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(workspace, 'CLAUDE.md'), 'utf8')).toContain('# Ours\n\n<!-- assay: begin');
  rmSync(link);
  writeFileSync(join(root, 'other'), 'x');
  symlinkSync('../other', link);
  expect(() => writeAgentsSection(workspace)).toThrow(/not in this folder/);
  expect(readFileSync(join(root, 'other'), 'utf8')).toBe('x');
  rmSync(link);
  writeFileSync(link, Buffer.from([0xff, 0xfe]));
  expect(() => writeAgentsSection(workspace)).toThrow(/UTF-8/);
  rmSync(link);
  mkdirSync(link);
  expect(() => writeAgentsSection(workspace)).toThrow(/no file/);
});
