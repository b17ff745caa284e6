// The two kinds of tests: `npm run test:unit` starts no process and so is quick, `npm run test:e2e` runs all
// others.
import { expect, test } from 'vitest';
import { Reach, sortTests, testFiles } from './test-kinds.ts';

const { unit, e2e } = sortTests();

test('every test is of exactly one kind', () => {
  expect([...unit, ...e2e].toSorted()).toEqual(testFiles().toSorted());
  expect(unit.length).toBeGreaterThan(50);
});

test('no unit test imports what starts processes, through any other file', () => {
  const reach = new Reach();
  const starters = ['test/rig/assay.ts', 'test/rig/server.ts', 'client/process/launch.ts'];
  const wrong = unit.filter((file) => starters.some((starter) => reach.filesOf(file).has(starter)));
  expect(wrong).toEqual([]);
});

test('a test that starts Assay is an end-to-end test, and one of the core is not', () => {
  expect(e2e).toContain('test/client/run/promises.test.ts');
  expect(unit).toContain('test/core/tree.test.ts');
  expect(unit).toContain('test/project/test-kinds.test.ts');
});
