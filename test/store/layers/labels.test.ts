// Searches for labels: each has a bound, whoever has put how many labels without a result.
import { expect, test } from 'vitest';
import type { Hash } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { sha256 } from '../../../core/sha256.ts';
import { liveLabels } from '../../../store/layers/labels.ts';
import { STORE } from '../../../store/limits.ts';
import type { LabelRecords, Results } from '../../../store/store.ts';
import { MemoryLeases } from '../../rig/stores/memory/leases.ts';

const LIVE = sha256(Buffer.from('live')) as Hash;
const DEAD = sha256(Buffer.from('dead')) as Hash;

/** So many dead labels, and then a live one. */
function search(dead: number) {
  let lookups = 0;
  const results: Pick<Results, 'get'> = {
    async get({ key }) {
      lookups++;
      return key === LIVE ? { bytes: Buffer.alloc(0), references: [], writer: undefined } : undefined;
    },
  };
  const records: Pick<LabelRecords, 'get' | 'withPrefix'> = {
    get: async () => undefined,
    async *withPrefix() {
      for (let at = 0; at < dead; at++) yield { label: `${at}`, key: DEAD };
      yield { label: 'live', key: LIVE };
    },
  };
  const labels = liveLabels(records as LabelRecords, results as Results, new MemoryLeases(Date.now));
  return { newest: (prefixes = ['']) => labels.newest(DEFAULT_NAMESPACE, prefixes), lookups: () => lookups };
}

test('a search passes over labels whose result is gone', async () => {
  const { newest } = search(STORE.deadLabels - 1);
  expect((await newest())?.label).toBe('live');
});

test('a search among very many labels without a result is a miss after so many lookups', async () => {
  const { newest, lookups } = search(1_000_000);
  expect(await newest(['one', 'two', 'three'])).toBeUndefined();
  expect(lookups()).toBe(STORE.deadLabels);
});
