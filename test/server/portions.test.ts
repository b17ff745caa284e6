import { expect, test } from 'vitest';
import { SERVER } from '../../core/limits.ts';
import { Load } from '../../server/load.ts';
import { sendPortions } from '../../server/portions.ts';
import type { LargeBlob } from '../../store/store.ts';

test('downloads that come at once have their chunks read a few at a time, and all come to their end', async () => {
  const load = new Load(SERVER, 1024);
  let [reading, most] = [0, 0];
  const chunk = Buffer.alloc(1024);
  const blob: LargeBlob = {
    size: 4 * chunk.length,
    async *chunks(offset = 0) {
      for (let at = offset; at < 4 * chunk.length; at += chunk.length) {
        most = Math.max(most, ++reading);
        await new Promise((resolve) => setImmediate(resolve));
        reading--;
        yield chunk;
      }
    },
  };
  const downloads = Array.from({ length: 2 * SERVER.maxDownloads }, () =>
    sendPortions({ load, limits: SERVER }, blob, { offset: 0, length: blob.size }, async () => true),
  );
  for (const sent of await Promise.all(downloads)) expect(sent).toEqual({ bytes: blob.size, isTaken: true });
  expect(most).toBe(SERVER.maxReads);
});
