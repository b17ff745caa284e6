// A bundle of each format that Assay has ever written is read by this version. test/vectors has one of each.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../../../test/store/content.ts';
import { FORMAT } from '../format/layout.ts';
import { exported, imported } from './rig/bundles.ts';

const VECTORS = join(import.meta.dirname, '../../../test/vectors');

test.each(Array.from({ length: FORMAT }, (_, at) => at + 1))(
  'a bundle of format %i is read',
  async (format) => {
    const store = openMemoryStore();
    const { stored, manifest } = await imported(
      store,
      readFileSync(join(VECTORS, `bundle-${format}.bundle`)),
    );
    expect(stored).toBe(1);
    expect(manifest.bundle).toBe('861a50a086c70965586fcfe4b28e0ed9ed015f208ff978a95c2ba1948acb72ca');
    expect(await readFrom(store, digestOf(contentOf('vector', 100)))).toEqual(contentOf('vector', 100));
    expect(await store.results.get(addressOf('vector'))).toBeDefined();
  },
);

test('this version writes the manifest of the newest format as before', async () => {
  const store = openMemoryStore();
  await store.results.put(addressOf('vector'), resultNaming(await putOne(store, contentOf('vector', 100))));
  const { manifest } = await imported(openMemoryStore(), await exported(store));
  expect(manifest.bundle).toBe('861a50a086c70965586fcfe4b28e0ed9ed015f208ff978a95c2ba1948acb72ca');
});
