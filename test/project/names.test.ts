// One word has one meaning: how many exported names exist in two files or more. The number only falls.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSomeWingMissing } from './missing-wings.ts';
import { exportedNames, isTestOfWing, ROOT, sourcesOf } from './sources.ts';

const ROOMS = ['core', 'system', 'store', 'hermeticity', 'client', 'server', 'bin', 'wings'];

/** What every wing exports, and what the build makes of it. */
const PORTS: readonly string[] = ['wing', 'stepHook', 'library'];

const DOUBLE = 7;

test(`at most ${DOUBLE} exported names exist twice`, () => {
  const files = ROOMS.flatMap(sourcesOf).filter(
    (file) => !isTestOfWing(file) && !file.startsWith('core/proto/generated/'),
  );
  const exported = files.flatMap((file) =>
    [...new Set(exportedNames(readFileSync(join(ROOT, file), 'utf8')))].map((name) => ({ name, file })),
  );
  const places = Map.groupBy(exported, ({ name }) => name);
  const double = [...places].filter(([name, found]) => found.length > 1 && !PORTS.includes(name));
  const listed = double.map(([name, found]) => `${name}: ${found.map(({ file }) => file).join(', ')}`);
  expect(places.size).toBeGreaterThan(1000);
  expect(double.length, `give the new one another name\n${listed.join('\n')}`).toBeLessThanOrEqual(DOUBLE);
  if (!isSomeWingMissing())
    expect(double.length, 'lower the number in this test').toBeGreaterThan(DOUBLE - 3);
});

test('exported names are found in each form', () => {
  const source =
    'export const a = 1;\nexport async function b() {}\nexport abstract class C {}\nexport type D = 1;\n';
  expect(exportedNames(`${source}export interface E {}\nconst f = 1;\n  export const g = 1;\n`)).toEqual([
    ...'abCDE',
  ]);
});
