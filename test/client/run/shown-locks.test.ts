// Locks lie in the workspace while a command runs: git does not show them, and no kept result holds one.
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('a', 'one\n');
});
afterEach(() => shop.remove());

const run = (script: string) => shop.run(['--input', 'a', '--output', 'out', '--', 'sh', '-c', script]);

test('git shows no lock', async () => {
  execFileSync('git', ['init', '-q'], { cwd: shop.workspace });
  const ran = await run('ls .assay | grep -c lock-out; git status --porcelain -uall; cp a out');
  expect(ran.stdout).toMatch(/^1\n(?!.*assay)/s);
  expect(shop.has('.assay')).toBe(false);
});

test.each([
  ['prints one', 'find .; cp a out'],
  ['packs one', 'tar czf "$TMPDIR/x" . && mv "$TMPDIR/x" out'],
  ['writes its name', 'find . -newer none -o -print > out 2>/dev/null || find . > out'],
])('a result whose command %s is not kept, and one line says what to do', async (_, script) => {
  const ran = await run(script);
  expect(ran.code).toBe(0);
  expect(ran.summary).toMatchObject({ published: false });
  expect(ran.summary.notPublished).toContain('leave .assay out');
});

test.each([
  ['leaves it out', 'tar cf "$TMPDIR/x" --exclude=.assay . && mv "$TMPDIR/x" out'],
  ['only walks through it', "find . -name '*.c' > out"],
])('a result whose command %s is kept', async (_, script) => {
  expect((await run(script)).summary).toMatchObject({ published: true });
});
