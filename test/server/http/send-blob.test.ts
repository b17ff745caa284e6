import { expect, test } from 'vitest';
import { Capacity } from '../../../server/capacity/capacity.ts';
import { sendLargeBlob } from '../../../server/http/send-blob.ts';
import { SERVER } from '../../../server/limits.ts';
import type { LargeBlob } from '../../../store/store.ts';

test('concurrent downloads read a bounded number of chunks at once, and all complete', async () => {
  const capacity = new Capacity(SERVER, 1024);
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
    sendLargeBlob({ capacity, limits: SERVER }, blob, { offset: 0, length: blob.size }, async () => true),
  );
  for (const sent of await Promise.all(downloads))
    expect(sent).toEqual({ bytes: blob.size, isDelivered: true });
  expect(most).toBe(SERVER.maxReads);
});

test('a download reads ahead if its client keeps up, no other waits, and it is not sent copies', async () => {
  const limits = { ...SERVER, kernelBufferBytes: 2 };
  const askedFor = async (capacity: Capacity) => {
    const asked: number[] = [];
    const blob: LargeBlob = {
      size: 4,
      async *chunks(offset = 0, _length, atOnce = () => 1) {
        for (let at = offset; at < 4; at++) {
          asked.push(atOnce());
          yield Buffer.alloc(1);
        }
      },
    };
    await sendLargeBlob({ capacity, limits }, blob, { offset: 0, length: 4 }, async () => true);
    return asked;
  };
  const { readAheadChunks: more } = SERVER;
  expect(await askedFor(new Capacity(SERVER, 1024))).toEqual([1, 1, more, more]);
  expect(await askedFor(new Capacity({ ...SERVER, maxZeroCopyChunks: 0 }, 1024))).toEqual([1, 1, 1, 1]);
  const crowded = new Capacity({ ...SERVER, maxDownloads: 1 }, 1024);
  expect(await Promise.all([askedFor(crowded), askedFor(crowded)])).toEqual([
    [1, 1, 1, 1],
    [1, 1, 1, 1],
  ]);
});

test('while other downloads wait, a chunk is written in small pieces, one per event loop iteration', async () => {
  const limits = { ...SERVER, maxWriteBytes: 2, copyBufferBytes: 1, maxDownloads: 1 };
  const sizesAndTurns = async (capacity: Capacity, downloads: number) => {
    const sizes: number[] = [];
    let [turn, isOver] = [0, false];
    const turns: number[] = [];
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const blob: LargeBlob = {
      size: 6,
      async *chunks(offset = 0) {
        yield Buffer.alloc(6 - offset);
      },
    };
    const send = async (portion: Buffer) => {
      sizes.push(portion.length);
      turns.push(turn);
      return true;
    };
    await Promise.all(
      Array.from({ length: downloads }, () =>
        sendLargeBlob({ capacity, limits }, blob, { offset: 0, length: 6 }, send),
      ),
    );
    isOver = true;
    return { sizes, turns: new Set(turns).size };
  };
  expect((await sizesAndTurns(new Capacity(limits, 1024), 1)).sizes).toEqual([2, 2, 2]);
  const lent = await sizesAndTurns(new Capacity(limits, 1024), 2);
  expect(lent.sizes).toEqual([2, 2, 2, 2, 2, 2]);
  expect(lent.turns).toBeGreaterThanOrEqual(3);
  const copied = await sizesAndTurns(new Capacity({ ...limits, maxZeroCopyChunks: 0 }, 1024), 2);
  expect(copied.sizes).toEqual(Array.from({ length: 12 }, () => 1));
  expect(copied.turns).toBe(6);
});

test('many downloads that pause with a chunk and resume together all complete', async () => {
  const limits = { ...SERVER, maxDownloads: 2, maxZeroCopyChunks: 8, maxReads: 1, copyTimeoutMs: 1 };
  const capacity = new Capacity(limits, 1024);
  const blob: LargeBlob = {
    size: 1,
    async *chunks() {
      yield Buffer.alloc(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
  let paused = 0;
  const isBack = Promise.withResolvers<boolean>();
  const downloads = Array.from({ length: 20 }, () => {
    let isFirst = true;
    return sendLargeBlob({ capacity, limits }, blob, { offset: 0, length: 1 }, () => {
      if (!isFirst || paused === limits.maxZeroCopyChunks) return Promise.resolve(true);
      isFirst = false;
      if (++paused === limits.maxZeroCopyChunks) setTimeout(() => isBack.resolve(true), 20);
      return isBack.promise;
    });
  });
  for (const sent of await Promise.all(downloads)) expect(sent).toEqual({ bytes: 1, isDelivered: true });
});

test('a download that pauses with a chunk yields its slot to others, and resumes later', async () => {
  const limits = { ...SERVER, maxDownloads: 1, maxZeroCopyChunks: 1 };
  const capacity = new Capacity(limits, 1024);
  const blob: LargeBlob = {
    size: 4,
    async *chunks(offset = 0) {
      for (let at = offset; at < 4; at += 2) yield Buffer.alloc(2);
    },
  };
  const range = { offset: 0, length: 4 };
  const isBack = Promise.withResolvers<boolean>();
  const paused = sendLargeBlob({ capacity, limits }, blob, range, () => isBack.promise);
  const others = [1, 2, 3].map(() => sendLargeBlob({ capacity, limits }, blob, range, async () => true));
  for (const sent of await Promise.all(others)) expect(sent).toEqual({ bytes: 4, isDelivered: true });
  isBack.resolve(true);
  expect(await paused).toEqual({ bytes: 4, isDelivered: true });
  expect(capacity.downloads.tryAcquire()).toBe(true);
  expect(capacity.downloads.tryAcquire()).toBe(false);
});
