// The three kinds of tests: `npm run test:unit` starts no process and no server and so is quick, `npm run test:server`
// starts servers in the process of the tests, `npm run test:e2e` runs all others.
import { expect, test } from 'vitest';
import { Reach, sortTests, testFiles } from './test-kinds.ts';

const { unit, server, e2e } = sortTests();

test('every test is of exactly one kind', () => {
  expect([...unit, ...server, ...e2e].toSorted()).toEqual(testFiles().toSorted());
  expect(unit.length).toBeGreaterThan(50);
});

const STARTERS = ['test/rig/assay.ts', 'test/rig/server.ts', 'client/process/launch.ts'];
const SERVERS = ['test/server/rig.ts', 'server/routes.ts'];

test.each([
  ['unit', unit, [...STARTERS, ...SERVERS]],
  ['server', server, STARTERS],
])('no %s test imports what another kind starts, through any other file', (_kind, files, starters) => {
  const reach = new Reach();
  const wrong = files.filter((file) => starters.some((starter) => reach.filesOf(file).has(starter)));
  expect(wrong).toEqual([]);
});

test('a test that starts Assay is an end-to-end test, one that starts a server in its process is not', () => {
  expect(e2e).toContain('test/client/run/promises.test.ts');
  expect(server).toContain('test/server/whole.test.ts');
  expect(unit).toContain('test/core/tree.test.ts');
  expect(unit).toContain('test/project/test-kinds.test.ts');
});
