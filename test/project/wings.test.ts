// The rules of wings/: a wing can be taken away, because nothing but the list of wings imports it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandsIn } from '../../scripts/wings-list.ts';
import { type Import, importsIn, importsOf, isTestOfWing, ROOT, sourcesOf, wingNames } from './sources.ts';

const LIST = 'bin/wings.ts';

/** What a wing may import from, beside itself. Its tests and benchmarks may also use those of the trunk. */
const TRUNK = ['core', 'system', 'store', 'hermeticity', 'client', 'server'];
const FOR_TESTS = [...TRUNK, 'test', 'bench'];

const OTHERS = [...TRUNK, 'bin', 'scripts', 'test', 'bench', 'examples'];

test('nothing imports a wing but the list of wings, not even a type', () => {
  const imports = OTHERS.flatMap(sourcesOf).flatMap(importsOf);
  expect(imports.length).toBeGreaterThan(1000);
  expect(intoWings(imports)).toEqual([]);
});

test('the list of wings imports the index of each wing, and types of the trunk', () => {
  const imports = importsOf(LIST).filter(({ kind }) => kind !== 'type');
  expect(imports.map(({ target }) => target)).toEqual(wingNames().map((name) => `wings/${name}/index.ts`));
});

describe.each(wingNames())('wings/%s', (name) => {
  const folder = `wings/${name}`;
  const sources = sourcesOf(folder);

  test('imports no other wing, and nothing above the trunk', () => {
    expect(sources.flatMap(importsOf).filter(isStray)).toEqual([]);
  });

  test('loads nothing before one of its commands is called', () => {
    const imports = importsOf(`${folder}/index.ts`);
    expect(imports.filter(({ kind }) => kind === 'value')).toEqual([]);
    expect(imports.map(({ target }) => target)).toContain('core/cli/wing.ts');
  });

  test('has a README, a guide for its users, and tests', () => {
    expect(existsSync(join(ROOT, folder, 'README.md'))).toBe(true);
    expect(existsSync(join(ROOT, folder, 'GUIDE.md'))).toBe(true);
    const tests = sources.filter((file) => file.endsWith('.test.ts'));
    expect(tests).not.toEqual([]);
    expect(tests.filter((file) => !isTestOfWing(file))).toEqual([]);
  });
});

test('no command is in two places', () => {
  const ofTrunk = commandsOfTrunk(readFileSync(join(ROOT, 'bin/assay.ts'), 'utf8'));
  const ofWings = commandsIn(readFileSync(join(ROOT, LIST), 'utf8')).map(({ command }) => command);
  expect(ofTrunk).toContain('run');
  const all = [...ofTrunk, ...ofWings];
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
});

test('a violation is seen, in each way to import', () => {
  const trunk = ["import type { A } from '../wings/a/b.ts';", "await import('../wings/a/index.ts');"];
  expect(intoWings(importsIn('client/x.ts', trunk.join('\n')))).toHaveLength(2);
  const wing = [
    "import { b } from '../b/index.ts';",
    "import type { C } from '../../bin/wings.ts';",
    "import { d } from '../../test/rig/random.ts';",
    "import { e } from './e.ts';",
    "import { f } from '../../core/path.ts';",
  ].join('\n');
  expect(importsIn('wings/a/x.ts', wing).filter(isStray)).toHaveLength(3);
  const ofTest = "import { d } from '../../../test/rig/random.ts';";
  expect(importsIn('wings/a/test/x.test.ts', ofTest).filter(isStray)).toEqual([]);
});

function intoWings(imports: readonly Import[]): Import[] {
  return imports.filter(({ file, target }) => target?.startsWith('wings/') && file !== LIST);
}

/** Imports of a wing that lead neither into itself nor into the trunk. */
function isStray({ file, target }: Import): boolean {
  if (target === undefined) return false;
  const [own, room = ''] = [file.split('/').slice(0, 2).join('/'), target.split('/')[0]];
  return !target.startsWith(`${own}/`) && !(isTestOfWing(file) ? FOR_TESTS : TRUNK).includes(room);
}

/** bin/assay.ts runs a command when it is imported, so its table is read as text. */
function commandsOfTrunk(source: string): string[] {
  return [...source.matchAll(/^ {2}'?([a-z -]+)'?: \{$/gm)].map(([, name = '']) => name);
}
