// When a slow download is worth its time, with a simulated clock.
import { expect, test } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import type { Remote } from '../../../client/remote/remote.ts';
import { TooSlow, Worth } from '../../../client/remote/worth.ts';

const MINUTE = 60_000;
const MEGABYTE = 1_000_000;

/** Serves only as an identity. */
const newRemote = (): Remote => ({
  usable: true,
  takesWrites: true,
  reportForm: 0,
  giveUp() {},
  getResult: async () => undefined,
  namespaceOf: () => undefined,
  putResult: async () => 'stored',
  getBlobs: async () => {},
  putBlobs: async () => {},
  takesPublications: false,
  publish: async () => 'stored',
  putRival: async () => false,
  inlinedBlob: () => undefined,
  listPathSets: async () => undefined,
  findResult: async () => undefined,
  addPathSet: async () => false,
  close: async () => {},
});

/** Downloads until complete or too slow; returns the time. */
function download(
  {
    bytes,
    perSecond,
    commandMs,
    starved = 0,
  }: { bytes: number; perSecond: number; commandMs?: number; starved?: number },
  remote = newRemote(),
): { tookMs: number; tooSlow: boolean } {
  let now = 0;
  try {
    const worth = new Worth(
      remote,
      bytes,
      commandMs,
      () => now,
      () => now * starved,
    );
    for (let received = 0; received < bytes; received += perSecond / 10) {
      now += 100;
      worth.received(perSecond / 10);
    }
    return { tookMs: now, tooSlow: false };
  } catch (error) {
    if (!(error instanceof TooSlow)) throw error;
    return { tookMs: now, tooSlow: true };
  }
}

test('a slow download continues if the command takes longer', () => {
  expect(download({ bytes: MEGABYTE, perSecond: 20_000, commandMs: MINUTE })).toMatchObject({
    tooSlow: false,
  });
});

test('a slow download is abandoned soon if the command is faster', () => {
  const { tooSlow, tookMs } = download({ bytes: MEGABYTE, perSecond: 20_000, commandMs: 10_000 });
  expect(tooSlow).toBe(true);
  expect(tookMs).toBeLessThanOrEqual(REMOTE.sampleMs);
});

test('a download that is almost complete continues', () => {
  const remote = newRemote();
  let now = 0;
  const worth = new Worth(
    remote,
    1_000,
    4_000,
    () => now,
    () => 0,
  );
  for (const [at, bytes] of [
    [900, 500],
    [2_000, 200],
    [4_500, 200],
  ] as const) {
    now = at;
    worth.received(bytes);
  }
  now = 6_000;
  expect(() => worth.received(100)).not.toThrow();
});

test('a download that always seems almost complete is abandoned', () => {
  let now = 0;
  const worth = new Worth(
    newRemote(),
    1_000_000,
    4_000,
    () => now,
    () => 0,
  );
  worth.received(999_000);
  expect(() => {
    for (let byte = 0; byte < 100; byte++) {
      now += 100;
      worth.received(1);
    }
  }).toThrow(TooSlow);
});

test('a download of less than a second is never abandoned', () => {
  expect(download({ bytes: 20_000, perSecond: 25_000, commandMs: 5 })).toMatchObject({ tooSlow: false });
});

test('the rate of one download decides on the next one', () => {
  const remote = newRemote();
  const slow = { bytes: MEGABYTE, perSecond: 20_000, commandMs: 10_000 };
  expect(download(slow, remote).tookMs).toBeGreaterThan(0);
  expect(download(slow, remote)).toEqual({ tookMs: 0, tooSlow: true });
  expect(download({ ...slow, bytes: 100_000 }, remote)).toMatchObject({ tooSlow: false });
});

test('time in which this process gets no CPU does not count', () => {
  const asked = { bytes: MEGABYTE, perSecond: 20_000, commandMs: 10_000 };
  expect(download({ ...asked, starved: 0.9 })).toMatchObject({ tooSlow: false });
});

test('without a known command time, a download may take as long as on a slow line', () => {
  const bytes = 10 * MEGABYTE;
  expect(download({ bytes, perSecond: REMOTE.slowBytesPerSecond })).toMatchObject({ tooSlow: false });
  expect(download({ bytes, perSecond: REMOTE.slowBytesPerSecond / 4 })).toMatchObject({ tooSlow: true });
});
