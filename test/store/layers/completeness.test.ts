// How many large Trees and Directories are in memory at once while their results are put.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { checkingCompleteness } from '../../../store/layers/completeness.ts';
import type { DivergingResults } from '../../../store/layers/divergence.ts';
import { STORE } from '../../../store/limits.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { contentOf, directoryOf, outputRoot, outputTree, resultWith, treeOf } from '../content.ts';

const LEAF = digestOf(contentOf('a leaf', 10));
const LEAVES = Array.from({ length: STORE.inlineBytes / 64 }, () => LEAF);
const PUTS = 4 * STORE.concurrentTrees;
const KEY = digestOf(Buffer.from('an action')).hash;

test.each([
  ['Trees', treeOf(...LEAVES), outputTree],
  ['folders', directoryOf(LEAVES), outputRoot],
])('few large %s are in memory at once, and all are read', async (_kind, bytes, named) => {
  const tree = digestOf(bytes);
  const open = { now: 0, most: 0 };
  const { blobs, close } = openMemoryStore();
  const chunks = async function* () {
    open.now++;
    open.most = Math.max(open.most, open.now);
    await new Promise(setImmediate);
    yield bytes;
    open.now--;
  };
  const watched = { ...blobs, get: async () => ({ size: tree.size, chunks }), missing: async () => [] };
  const taken: DivergingResults = {
    get: async () => undefined,
    put: async () => 'stored',
    use: async () => {},
    replace: async () => true,
  };
  const results = checkingCompleteness(taken, watched, () => {});
  const result = resultWith({ outputDirectories: [named('out', tree)] });
  const puts = Array.from({ length: PUTS }, () =>
    results.put({ namespace: DEFAULT_NAMESPACE, key: KEY }, result),
  );
  expect(await Promise.all(puts)).toEqual(puts.map(() => 'stored'));
  expect(open).toEqual({ now: 0, most: STORE.concurrentTrees });
  await close();
});
