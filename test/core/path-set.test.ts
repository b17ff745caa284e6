// Vectors of path sets with facts that are no paths. They were computed by hand, from docs/FORMAT.md alone:
// other versions of Assay must find the same results.
import { expect, test } from 'vitest';
import { digestOf, parseHash } from '../../core/digest.ts';
import {
  decodePathSet,
  encodePathSet,
  LOADER_CACHE,
  MACHINE,
  type ObservedPath,
  type PathSet,
  resultKey,
  sortObservedPaths,
} from '../../core/path-set.ts';

function fact(root: string, path: string, state: string, note = ''): ObservedPath {
  return { root, path, names: false, state, left: '', without: [], lens: '', shown: [], note };
}

const SET: PathSet = [
  fact(LOADER_CACHE, '*', 'absent'),
  fact(LOADER_CACHE, 'libz.so.1', `value ${'1'.repeat(64)}`),
  fact(MACHINE, '/proc/cpuinfo', `value ${'2'.repeat(64)}`),
  fact(MACHINE, 'workspace', `value ${'3'.repeat(64)}`, 'out/a.o contains it'),
];
const KEY = parseHash('a'.repeat(64));
const recorded = ({ state }: ObservedPath) => state;

test('the bytes of a set with facts', () => {
  const bytes = encodePathSet(SET);
  expect(digestOf(bytes)).toEqual({
    hash: '7813184dd284eff73e2dbbe6269affc435b0bfad3c098d0a0931b7317f314477',
    size: 337,
  });
  expect(decodePathSet(bytes)).toMatchObject(SET);
  expect(sortObservedPaths(SET)).toEqual(SET);
});

test('the key of its result', () => {
  expect(resultKey(KEY, SET, recorded).hash).toBe(
    '80620972898e8308a12f56e2fd21a1d0bcb177de7fb8b4541116139351738756',
  );
});

test('the key does not depend on the reason of a fact', () => {
  const silent = SET.map((seen) => ({ ...seen, note: '' }));
  expect(resultKey(KEY, silent, recorded)).toEqual(resultKey(KEY, SET, recorded));
});
