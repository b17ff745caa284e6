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
  const { summary } = await shop.run(['--output', 'made', '--output', 'src', '--', 'true']);
  expect(summary).toMatchObject({ exitCode: 0, published: false });
  expect(summary.notPublished).toContain('its declared output');
  expect(content('src/a.c')).toBe('int main;\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(shop.has('made')).toBe(false);
});

test('a source that was put back is not taken for what the command made', async () => {
  const make = () => shop.run(['--output', 'src', '--', 'true']);
  expect((await make()).summary).toMatchObject({ published: false });
  shop.write('src/a.c', 'my edit\n');
  expect((await make()).summary).toMatchObject({ outcome: 'miss', published: false });
  expect(content('src/a.c')).toBe('my edit\n');
});

test('where git can’t say whether it tracks something, it is kept', async () => {
  const path = shop.another('empty');
  const ran = await shop.assay(['run', '--output', 'src', '--', '/bin/true'], { env: { PATH: path } });
  expect(ran.code).toBe(0);
  expect(content('src/a.c')).toBe('int main;\n');
  await shop.assay(['run', '--output', 'src', '--', 'true'], { env: { GIT_DIR: '/nonexistent' } });
  expect(content('src/a.c')).toBe('int main;\n');
});
