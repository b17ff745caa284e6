// What is not for a command to make is never moved away for it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';

let shop: Workshop;
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a', ...args], {
    cwd: shop.workspace,
    encoding: 'utf8',
  });
const content = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');

beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a.c', 'int main;\n');
  shop.write('made/old', 'by an earlier run\n');
  git('init', '-q');
  git('add', 'src');
  git('commit', '-qm', 'all');
});
afterEach(() => shop.remove());

describe.each(['.git', 'sub/.git', '.git/hooks', '.assay', 'assay.json', 'packages/a/assay.json'])(
  'the output %s',
  (output) => {
    test('of a command is refused, and nothing is touched', async () => {
      const { code, stderr } = await shop.assay(['run', '--output', output, '--', 'true']);
      expect(code).toBe(125);
      expect(stderr).toContain('ASSAY_OUTPUT_RESERVED');
      expect(git('log', '--format=%s')).toBe('all\n');
    });

    test.each(['outputs', 'state'])('among a step’s %s is refused with its place', async (field) => {
      shop.write(
        'assay.json',
        `{\n  "steps": { "a": { "command": "true",\n    "${field}": ["${output}"] } }\n}`,
      );
      const { code, stderr } = await shop.assay(['run', 'a']);
      expect(code).toBe(125);
      expect(stderr).toContain(`assay.json:3:${field.length + 10}`);
      expect(git('log', '--format=%s')).toBe('all\n');
    });
  },
);

test('a glob is refused as an output of a command, as it is for a step', async () => {
  const { code, stderr } = await shop.assay(['run', '--output', '*.txt', '--', 'true']);
  expect(code).toBe(125);
  expect(stderr).toContain('*.txt is a glob');
});

test('a command that ends well without its output leaves nothing of an earlier run, but all that git tracks', async () => {
  const { summary } = await shop.run(['--output', 'src', '--output', 'made', '--', 'true']);
  expect(summary).toMatchObject({ exitCode: 0, published: false });
  expect(summary.notPublished).toContain('its declared output');
  expect(content('src/a.c')).toBe('int main;\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(shop.has('made')).toBe(false);
});
