// What a file exports, another file uses: how many exported names no other file does, tests counted. The number only falls.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSomeWingMissing } from './missing-wings.ts';
import { exportedNames, importsIn, isTestOfWing, ROOT, sourcesOf } from './sources.ts';

const PRODUCT = ['core', 'system', 'store', 'hermeticity', 'client', 'server', 'wings'];
const USERS = [...PRODUCT, 'bin', 'scripts', 'test', 'bench', 'examples'];

const UNUSED = 30;
const FEWER = 20;

test(`at most ${UNUSED} exported names are used by their own file alone`, () => {
  const texts = new Map(
    USERS.flatMap(sourcesOf).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
  const users = usersOf(texts);
  const files = PRODUCT.flatMap(sourcesOf).filter(
    (file) => !isTestOfWing(file) && !file.startsWith('core/proto/generated/'),
  );
  const unused = files.flatMap((file) =>
    unusedIn(texts.get(file) ?? '', users.get(file) ?? []).map((name) => `${file}: ${name}`),
  );
  expect(files.length).toBeGreaterThan(500);
  if (isSomeWingMissing()) return; // Some exports are for a wing.
  expect(unused.length, `do not export these\n${unused.join('\n')}`).toBeLessThanOrEqual(UNUSED);
  expect(unused.length, 'lower the number in this test').toBeGreaterThan(UNUSED - FEWER);
});

test('an export is unused if no file that imports this one has its name', () => {
  const source = 'export const used = 1;\nexport function unused() {}\nexport type Late = 1;\n';
  const texts = new Map([
    ['core/a.ts', source],
    ['core/b.ts', "import { used } from './a.ts';\n"],
    ['core/c.ts', "const { Late } = await import('./a.ts');\n"],
    ['core/d.ts', 'const unused = 2;\n'],
  ]);
  expect(unusedIn(source, usersOf(texts).get('core/a.ts') ?? [])).toEqual(['unused']);
});

/** The texts of the files that import each file. */
function usersOf(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const users = new Map<string, string[]>();
  for (const [file, text] of texts)
    for (const { target } of importsIn(file, text))
      if (target !== undefined) users.set(target, [...(users.get(target) ?? []), text]);
  return users;
}

function unusedIn(source: string, users: readonly string[]): string[] {
  return exportedNames(source).filter((name) => {
    const word = new RegExp(`\\b${name}\\b`);
    return !users.some((text) => word.test(text));
  });
}
