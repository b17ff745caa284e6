import { describe, expect, test } from 'vitest';
import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import { memoryEngine } from '../../../store/memory/engine.ts';
import { memoryUploads } from '../../../store/memory/uploads.ts';
import { addLayers, openMemoryStore } from '../../../store/open.ts';
import type { Blobs } from '../../../store/store.ts';
import { contentOf, putAll, readFrom } from '../content.ts';
import { type Backend, describeStore } from '../contract.ts';
import { describeLabels } from '../contract-labels.ts';
import { describeUploads } from '../contract-uploads.ts';

const backend: Backend = {
  name: 'the memory store',
  async open(onEvent) {
    const engine = memoryEngine();
    const lost = new Set<Hash>();
    const blobs = losing(engine.blobs, lost);
    const store = addLayers({ ...engine, blobs, uploads: memoryUploads(blobs) }, onEvent);
    return {
      store,
      records: engine.records,
      lose: async (hash) => void lost.add(hash),
      dispose: () => store.close(),
    };
  },
};

describeStore(backend);
describeUploads(backend);
describeLabels(backend);

/** The engine can't lose a blob, so this wraps it. */
function losing(blobs: Blobs, lost: Set<Hash>): Blobs {
  return {
    get: async (hash) => (lost.has(hash) ? undefined : blobs.get(hash)),
    async put(expected, content) {
      const digest = await blobs.put(expected, content);
      lost.delete(digest.hash);
      return digest;
    },
    async missing(digests) {
      const gone = new Set(await blobs.missing(digests));
      return digests.filter((digest: Digest) => gone.has(digest) || lost.has(digest.hash));
    },
    touch: (hashes) => blobs.touch(hashes),
  };
}

describe('openMemoryStore', () => {
  test('returns a separate store for each caller', async () => {
    const bytes = contentOf('mine', 100);
    const [mine, yours] = [openMemoryStore(), openMemoryStore()];
    await putAll(mine, bytes);
    expect(await readFrom(mine, digestOf(bytes))).toEqual(bytes);
    expect(await readFrom(yours, digestOf(bytes))).toBeUndefined();
  });
});
