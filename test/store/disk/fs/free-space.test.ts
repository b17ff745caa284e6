import { expect, test } from 'vitest';
import { FreeSpace } from '../../../../store/disk/fs/free-space.ts';
import { STORE } from '../../../../store/limits.ts';

const FULL = { code: 'ASSAY_DISK_FULL' };
const written = async () => 'written';

test('what does not fit beside the reserve is refused, and not begun', async () => {
  const bytes = 1000;
  const least = STORE.minFreeBytes + STORE.commitBytes + bytes;
  expect(await new FreeSpace(() => least).withReserved(bytes, written)).toBe('written');
  let isBegun = false;
  const write = async () => {
    isBegun = true;
  };
  await expect(new FreeSpace(() => least - 1).withReserved(bytes, write)).rejects.toMatchObject(FULL);
  expect(isBegun).toBe(false);
});

test('what is under way keeps its room until it has ended, however it ends', async () => {
  const room = new FreeSpace(() => STORE.minFreeBytes + 3 * STORE.commitBytes);
  const ends: (() => void)[] = [];
  const failing = () => new Promise<void>((_, reject) => ends.push(() => reject(new Error('cut'))));
  const underWay = [room.withReserved(1, failing), room.withReserved(1, failing)];
  await expect(room.withReserved(1, written)).rejects.toMatchObject(FULL);
  for (const end of ends) end();
  await Promise.allSettled(underWay);
  expect(await room.withReserved(1, written)).toBe('written');
});

test('a look at the disk holds for a while', async () => {
  let [now, free, looks] = [0, Number.MAX_SAFE_INTEGER, 0];
  const room = new FreeSpace(
    () => {
      looks++;
      return free;
    },
    () => now,
  );
  for (let put = 0; put < 10; put++) await room.withReserved(1, written);
  expect(looks).toBe(1);
  free = 0;
  now += STORE.freeSpaceMs + 1;
  await expect(room.withReserved(1, written)).rejects.toMatchObject(FULL);
});

test('what is larger than one look allows for is asked about as a whole', async () => {
  const bytes = 3 * STORE.freeSpaceBytes;
  const least = STORE.minFreeBytes + STORE.commitBytes + bytes;
  expect(await new FreeSpace(() => least).withReserved(bytes, written)).toBe('written');
  await expect(new FreeSpace(() => least - 1).withReserved(bytes, written)).rejects.toMatchObject(FULL);
});
