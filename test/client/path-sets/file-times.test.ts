// File times are in no key. make, ninja, tsc -b and Python's compiled modules go by them, so what an earlier
// run or a person left in the workspace decides what such a tool makes: such a result is not kept.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Summary, Workshop } from '../../rig/assay.ts';

const BIN = join(import.meta.dirname, '../../../node_modules/.bin');
const OLD = new Date('2020-01-01T00:00:00Z');

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/** As tar and rsync -a leave it. */
function writeOld(path: string, text: string): void {
  utimesSync(shop.write(path, text), OLD, OLD);
}

function textOf(path: string): string {
  return readFileSync(join(shop.workspace, path), 'utf8').trim();
}

async function run(args: readonly string[], ...command: string[]): Promise<Summary> {
  const PATH = `${BIN}:/usr/bin:/bin`;
  return (await shop.run([...args, '--', ...command], { env: { PATH } })).summary;
}

const MAKEFILE = ['prog: a.o\n\tcp a.o prog\n', 'a.o: a.c\n\tcp a.c a.o\n'].join('');
const NINJA = 'rule cp\n  command = cp $in $out\nbuild a.o: cp a.c\nbuild prog: cp a.o\n';

describe.each([
  { tool: 'make', file: 'Makefile', text: MAKEFILE },
  { tool: 'ninja', file: 'build.ninja', text: NINJA },
])('$tool', ({ tool, file, text }) => {
  const declared = ['--input', file, '--input', 'a.c', '--output', 'prog'];

  test('a result made from a leftover object is not published; one made from nothing is', async () => {
    shop.write(file, text);
    writeOld('a.c', 'new');
    shop.write('a.o', 'stale');
    const stale = await run(declared, tool, 'prog');
    expect(textOf('prog')).toBe(tool === 'make' ? 'stale' : 'new');
    expect(stale).toMatchObject({ outcome: 'miss', published: false });
    expect(stale.notPublished).toContain('a.o');
    for (const name of ['a.o', '.ninja_log', '.ninja_deps'])
      rmSync(join(shop.workspace, name), { force: true });
    const clean = await run(declared, tool, 'prog');
    expect([clean.published, textOf('prog')]).toEqual([true, 'new']);
  });

  test('an object that is an output or an input does not prevent publishing', async () => {
    shop.write(file, text);
    writeOld('a.c', 'new');
    const log = tool === 'ninja' ? ['--output', '.ninja_log'] : [];
    const all = [...declared, '--output', 'a.o', ...log];
    expect((await run(all, tool, 'prog')).published).toBe(true);
    writeOld('a.c', 'newer');
    expect(await run(all, tool, 'prog')).toMatchObject({ outcome: 'miss', published: true });
    expect(textOf('prog')).toBe('newer');
  });
});

test('installed packages in the workspace do not prevent publishing', async () => {
  shop.write('Makefile', 'out: in node_modules/x/index.js .venv/lib/x.py\n\tcp in out\n');
  shop.write('in', '1');
  shop.write('node_modules/x/index.js', '');
  shop.write('.venv/pyvenv.cfg', '');
  shop.write('.venv/lib/x.py', '');
  const summary = await run(['--input', 'in', '--input', 'Makefile', '--output', 'out'], 'make');
  expect(summary).toMatchObject({ published: true, status: 'observed' });
});

test('with observed inputs a source counts by its content, and a leftover object prevents publishing', async () => {
  shop.write('Makefile', MAKEFILE);
  writeOld('a.c', 'new');
  const observed = ['--inputs=observed', '--output', 'prog'];
  expect((await run([...observed, '--output', 'a.o'], 'make')).published).toBe(true);
  const stale = await run(observed, 'make');
  expect(stale.published).toBe(false);
  expect(stale.notPublished).toContain('make goes by file times and looked at a.o');
});

test('an untracked object that only a wildcard declares prevents publishing', async () => {
  const git = (...args: string[]) => execFileSync('git', ['-C', shop.workspace, ...args]);
  git('init', '-q');
  shop.write('Makefile', MAKEFILE);
  writeOld('a.c', 'new');
  shop.write('a.o', 'stale');
  const all = ['--input', '**', '--output', 'prog'];
  expect((await run(all, 'make')).notPublished).toContain('a.o');
  git('add', 'a.o');
  expect((await run(all, 'make')).published).toBe(true);
});

test('tsc -b skips a project whose times look new', async () => {
  const tsBuildInfoFile = 'dist/tsbuildinfo';
  const options = { composite: true, outDir: 'dist', rootDir: 'src', tsBuildInfoFile, types: [] };
  const project = (...references: object[]) =>
    JSON.stringify({ compilerOptions: options, include: ['src'], references });
  shop.write('lib/tsconfig.json', project());
  shop.write('app/tsconfig.json', project({ path: '../lib' }));
  shop.write('app/src/index.ts', "import { a } from '../../lib/src/index.js';\nexport const b = a;\n");
  writeOld('lib/src/index.ts', 'export const a = 1;\n');
  execFileSync(join(BIN, 'tsc'), ['-b', 'app'], { cwd: shop.workspace });
  writeOld('lib/src/index.ts', 'export const a = 2;\n');
  const declared = ['--input', '*/src/**', '--input', '*/tsconfig.json', '--output', 'app/dist'];
  const summary = await run(declared, 'tsc', '-b', 'app');
  expect(textOf('app/dist/index.d.ts')).toContain('b = 1');
  expect(summary).toMatchObject({ outcome: 'miss', published: false });
  expect(summary.notPublished).toContain('lib/dist');
  const both = await run([...declared, '--output', 'lib/dist'], 'tsc', '-b', 'app');
  expect(both.published).toBe(true);
  expect(textOf('app/dist/index.d.ts')).toContain('b = 2');
});

test("Python's compiled modules count by their sources' times", async () => {
  shop.write('main.py', 'from lib import mod\nopen("out", "w").write(mod.VALUE)\n');
  writeOld('lib/mod.py', 'VALUE = "one"\n');
  execFileSync('/usr/bin/python3', ['-c', 'from lib import mod'], { cwd: shop.workspace, env: {} });
  writeOld('lib/mod.py', 'VALUE = "two"\n');
  const undeclared = await run(['--input', 'main.py', '--output', 'out'], '/usr/bin/python3', 'main.py');
  expect(textOf('out')).toBe('one');
  expect(undeclared).toMatchObject({ published: false });
  expect(undeclared.notPublished).toMatch(/__pycache__\/mod\..*\.pyc.*declare its source/);
  const declared = await run(['--input', '**/*.py', '--output', 'out'], '/usr/bin/python3', 'main.py');
  expect([declared.published, textOf('out')]).toEqual([true, 'two']);
});

test('a path that is below a file by now does not fail the build', async () => {
  shop.write('Makefile', 'out: d/x\n\trm -r d\n\techo > d\n\techo 1 > out\n');
  shop.write('d/x', '');
  const summary = await run(['--input', 'Makefile', '--output', 'out'], 'make');
  expect(summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: false });
});
