// The amount of code has a budget: the hand-written lines of each room and wing, and the files at one level of a folder of
// the client and the server. A room gets more only with a reason in budget.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUDGET, CROWDED } from './budget.ts';
import { isOfMissingWing } from './missing-wings.ts';
import { isTestOfWing, ROOT, sourcesOf, wingNames } from './sources.ts';

const WRITTEN_BY_HAND = /(?:\.(?:ts|c|h|def|css|sh)|^bin\/assay)$/;
const GENERATED = /^(?:core\/proto\/generated\/|bin\/wings\.ts$)/;
const TRUNK = ['core', 'system', 'store', 'hermeticity', 'client', 'server', 'bin'];
const AT_ONE_LEVEL = 12;

/** A room with so many hundred lines less than its budget has its number lowered. */
const UNUSED = 3;

describe.each(Object.entries(BUDGET))('%s', (room, [first, ...raises]) => {
  const budget = raises.reduce((sum, [hundreds]) => sum + hundreds, first);

  test.skipIf(isOfMissingWing(room))(
    'has no more hand-written lines than its budget, and not many fewer',
    () => {
      const lines = filesBelow(room).reduce((sum, file) => sum + linesOf(file), 0);
      expect(lines, 'say in budget.ts why this room grew').toBeLessThanOrEqual(budget * 100);
      expect(lines, 'lower the number in budget.ts').toBeGreaterThan((budget - UNUSED) * 100);
    },
  );

  test('has a reason for each number that came', () => {
    expect(raises.filter(([hundreds, why]) => hundreds < 1 || why.length < 20)).toEqual([]);
  });
});

test('every room of the trunk and every wing has a budget', () => {
  const rooms = [...TRUNK, ...wingNames().map((name) => `wings/${name}`)];
  expect(rooms.filter((room) => !(room in BUDGET))).toEqual([]);
});

test(`a folder of client or server has at most ${AT_ONE_LEVEL} files at one level, but for those that are listed`, () => {
  const folders = Map.groupBy(['client', 'server'].flatMap(sourcesOf), dirname);
  const counts = [...folders].map(([folder, files]) => [folder, files.length] as const);
  const crowded = counts.filter(([, count]) => count > AT_ONE_LEVEL);
  expect(counts.length).toBeGreaterThan(40);
  expect(Object.fromEntries(crowded)).toEqual(CROWDED);
});

function filesBelow(room: string): string[] {
  return readdirSync(join(ROOT, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => WRITTEN_BY_HAND.test(file) && !GENERATED.test(file) && !isTestOfWing(file));
}

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
}
