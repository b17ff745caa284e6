// S5 of store/disk/space/space.ts: reads never wait for space.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { limitedBlobs, limitedRecords, type SpaceLimit } from '../../../store/layers/limit.ts';
import type { RawBlobs } from '../../../store/raw.ts';
import type { ResultRecords } from '../../../store/store.ts';
import { addressOf, contentOf, streamOf } from '../content.ts';

const NEVER = new Promise<never>(() => {});
const FULL: SpaceLimit = {
  isAvailable: () => false,
  withReserved: () => NEVER,
  begin: () => ({ grow: () => NEVER, markStored: () => {}, complete: () => {}, end: () => {} }),
};
const bytes = contentOf('one', 100);

const blobs: RawBlobs = {
  get: async () => undefined,
  put: async (_expected, content) => {
    if (!(content instanceof Uint8Array)) for await (const _piece of content);
    return digestOf(bytes);
  },
  missing: async (digests) => [...digests],
  touch: async () => {},
  quarantine: async () => {},
};
const records: ResultRecords = {
  get: async () => undefined,
  markUsed: async () => {},
  put: async () => true,
  after: async () => ({ records: [], position: undefined }),
  remove: async () => true,
};

test('S5: in a full store reads are answered while writes wait', async () => {
  const limited = { blobs: limitedBlobs(blobs, FULL), records: limitedRecords(records, () => FULL) };
  const result = { bytes, references: [] };
  const digest = digestOf(bytes);
  let isWritten = false;
  const done = () => {
    isWritten = true;
  };
  void limited.blobs.put(digest, bytes).then(done);
  void limited.blobs.put(digest, streamOf(bytes)).then(done);
  void limited.records.put(addressOf('key'), result, undefined).then(done);
  expect(await limited.blobs.get(digest.hash)).toBeUndefined();
  expect(await limited.blobs.missing([digest])).toEqual([digest]);
  await limited.blobs.touch([digest.hash]);
  await limited.blobs.quarantine(digest.hash, 1, 'damaged');
  expect(await limited.records.get(addressOf('key'))).toBeUndefined();
  expect(await limited.records.remove(addressOf('key'), result)).toBe(true);
  await limited.records.markUsed(addressOf('key'), result);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isWritten).toBe(false);
});
