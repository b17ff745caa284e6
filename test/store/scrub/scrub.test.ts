// A scrub of many small entries lets a server serve others meanwhile.
import { expect, test } from 'vitest';
import { newProgress, scrub } from '../../../store/scrub/scrub.ts';
import { addressOf, contentOf, putAll, resultNaming } from '../content.ts';
import { useFolders } from '../folders.ts';

const { folder, open } = useFolders();

test('the event loop gets a turn after every few entries, although none of them waits for I/O', async () => {
  const store = await open({ directory: folder() });
  const digests = await putAll(
    store,
    ...Array.from({ length: 1500 }, (_, n) => contentOf(`small ${n}`, 100)),
  );
  await Promise.all(
    digests.slice(0, 300).map((digest, n) => store.results.put(addressOf(`${n}`), resultNaming(digest))),
  );
  const inspection = await store.inspect?.();
  if (!inspection) throw new Error('a store on disk can be inspected');
  const turns = { seen: 0, inTurn: 0, most: 0, isOver: false };
  const count = () => {
    turns.most = Math.max(turns.most, ++turns.inTurn);
  };
  const nextTurn = () => {
    turns.seen++;
    turns.inTurn = 0;
    if (!turns.isOver) setImmediate(nextTurn);
  };
  setImmediate(nextTurn);
  const tally = await scrub(newProgress(0), {
    inspection,
    throttle: undefined,
    now: () => 1,
    onProgress: count,
    onResult: count,
  });
  turns.isOver = true;
  expect(tally).toMatchObject({ blobs: 1500, results: 300, damaged: 0, unusableResults: 0 });
  expect(turns.most).toBeLessThanOrEqual(80);
});
