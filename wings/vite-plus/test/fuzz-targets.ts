// Valid requests of Vite+'s protocol. test/attack/http-fuzz.test.ts bends and sends them.
import { digestOf } from '../../../core/digest.ts';
import { type FuzzTarget, request } from '../../../test/attack/fuzz/request.ts';
import type { Random } from '../../../test/rig/random.ts';
import { entryForm, FORM, question } from './rig.ts';

const BASE = '/vite-plus/team';

export function fuzzTargets(random: Random): FuzzTarget[] {
  const key = () => `key ${random.below(4)}`;
  const blob = () => Buffer.alloc(random.pick([0, 10, 1000, 70_000]), random.below(4));
  return [
    {
      name: 'vite-plus',
      next: () =>
        random.pick([
          () => request('POST', `${BASE}/fetch`, question(key()), { 'content-type': 'application/cbor' }),
          () =>
            request('POST', `${BASE}/store`, entryForm({ key: key(), value: blob(), blob: blob() }), FORM),
          () => request('POST', `${BASE}/store`, entryForm({ key: key(), value: blob() }), FORM),
          () => request('GET', `${BASE}/blob/${digestOf(blob()).hash}`),
        ])(),
    },
  ];
}
