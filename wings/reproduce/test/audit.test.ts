// `assay audit --reproduce`: the report has what the second runs showed, or why there are none.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'in\n');
});

afterEach(() => shop.remove());

test('the HTML page lists the variations', async () => {
  const file = join(shop.folder, 'audit.html');
  const flags = ['--reproduce', '--html', file, '--output', 'out'];
  await shop.assay(['audit', ...flags, '--', 'sh', '-c', 'cat in.txt > stray; date > out']);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('<h1 class="unproven">unproven: 1 to fix, 1 path left undeclared, 1 proven access');
  expect(text).toContain('Fix: no comparison can stand for it');
  expect(text).toContain('the time of day');
  expect(text).toContain('id="variations"');
  expect(text).toContain('href="#variations"');
});

test('a path longer than PATH_MAX cannot be run again, and the report says so', async () => {
  const deep = 'for _ in range(25): os.mkdir("d" * 200); os.chdir("d" * 200)';
  const script = `import os; os.mkdir("out"); os.chdir("out")\n${deep}\nopen("secret", "w").write("x")`;
  const command = ['sh', '-c', `python3 -S -c '${script}'`];
  const made = await shop.assay(['audit', '--json', '--reproduce', '--output', 'out', '--', ...command]);
  expect(made.code).toBe(3);
  expect(made.stderr).not.toContain('ASSAY_');
  expect(JSON.parse(made.stdout)).toMatchObject({ hermetic: false, complete: false, exitCode: 0 });
  expect(made.stdout).toContain('it could not be run again: ASSAY_LONG_PATH');
});
