import { describe, expect, test } from 'vitest';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { addLayers } from '../../../../store/open.ts';
import { contentOf, putAll, readFrom } from '../../../store/content.ts';
import { type Backend, describeStore } from '../../../store/contract.ts';
import { describeActionLeases } from '../../../store/contract-action-leases.ts';
import { describeHistory } from '../../../store/contract-history.ts';
import { describeLabels } from '../../../store/contract-labels.ts';
import { describeReview } from '../../../store/contract-review.ts';
import { describeTenants } from '../../../store/contract-tenants.ts';
import { describeUploads } from '../../../store/contract-uploads.ts';
import { type KeptBlob, memoryEngine } from './engine.ts';
import { openMemoryStore } from './store.ts';

const backend: Backend = {
  name: 'the memory store',
  async open(onEvent) {
    const kept = new Map<Hash, KeptBlob>();
    const engine = memoryEngine(kept);
    const store = addLayers(engine, onEvent);
    return {
      store,
      records: engine.records,
      lose: async (hash) => void kept.delete(hash),
      dispose: () => store.close(),
    };
  },
};

describeStore(backend);
describeUploads(backend);
describeLabels(backend);
describeTenants(backend);
describeReview(backend);
describeHistory(backend);
describeActionLeases({
  name: 'the memory store',
  async open() {
    let now = Date.now();
    const store = addLayers(
      memoryEngine(new Map(), () => now),
      () => {},
    );
    return {
      store,
      passTime: async (milliseconds) => {
        now += milliseconds;
      },
      dispose: () => store.close(),
    };
  },
});

describe('openMemoryStore', () => {
  test('returns a separate store for each caller', async () => {
    const bytes = contentOf('mine', 100);
    const [mine, yours] = [openMemoryStore(), openMemoryStore()];
    await putAll(mine, bytes);
    expect(await readFrom(mine, digestOf(bytes))).toEqual(bytes);
    expect(await readFrom(yours, digestOf(bytes))).toBeUndefined();
  });
});
