import { describe, expect, test } from 'vitest';
import { digestOf, type Hash } from '../../../core/digest.ts';
import { type KeptBlob, memoryEngine } from '../../../store/memory/engine.ts';
import { addLayers, openMemoryStore } from '../../../store/open.ts';
import { contentOf, putAll, readFrom } from '../content.ts';
import { type Backend, describeStore } from '../contract.ts';
import { describeActionLeases } from '../contract-action-leases.ts';
import { describeHistory } from '../contract-history.ts';
import { describeLabels } from '../contract-labels.ts';
import { describeReview } from '../contract-review.ts';
import { describeTenants } from '../contract-tenants.ts';
import { describeUploads } from '../contract-uploads.ts';

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
