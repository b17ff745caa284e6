// The addon that runs from source is the mended one: a disk that fails must not end a server that was started
// by `npm start`.
import { readFileSync, realpathSync } from 'node:fs';
import 'lmdb';
import { expect, test } from 'vitest';
import { ADDON, mendedAddon } from '../../scripts/lmdb-addon.ts';

test('npm ci has mended lmdb’s addon (docs/decisions/0091)', () => {
  expect(readFileSync(ADDON).equals(mendedAddon())).toBe(true);
});

test('it is the one that Node loads', () => {
  const { sharedObjects } = JSON.parse(JSON.stringify(process.report.getReport()));
  expect(sharedObjects).toContain(realpathSync(ADDON));
});
