import { expect, test } from 'vitest';
import { FreeSpace } from '../../../../store/disk/fs/free-space.ts';
import { STORE } from '../../../../store/limits.ts';

const FULL = { code: 'ASSAY_DISK_FULL' };
const written = async () => 'written';

test('a write that does not fit beside the reserve is refused, and does not begin', async () => {
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

test('a write keeps its reservation until it ends, even if it fails', async () => {
  const room = new FreeSpace(() => STORE.minFreeBytes + 3 * STORE.commitBytes);
  const ends: (() => void)[] = [];
  const failing = () => new Promise<void>((_, reject) => ends.push(() => reject(new Error('cut'))));
  const underWay = [room.withReserved(1, failing), room.withReserved(1, failing)];
  await expect(room.withReserved(1, written)).rejects.toMatchObject(FULL);
  for (const end of ends) end();
  await Promise.allSettled(underWay);
  expect(await room.withReserved(1, written)).toBe('written');
});

test('one answer about the disk is used for a while', async () => {
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

test('a write that is larger than one answer covers asks the disk again', async () => {
  const bytes = 3 * STORE.freeSpaceBytes;
  const least = STORE.minFreeBytes + STORE.commitBytes + bytes;
  expect(await new FreeSpace(() => least).withReserved(bytes, written)).toBe('written');
  await expect(new FreeSpace(() => least - 1).withReserved(bytes, written)).rejects.toMatchObject(FULL);
});
