// The relations between the store's limits. A change of one constant that breaks another fails here.
import { describe, expect, test } from 'vitest';
import { SERVER } from '../../server/limits.ts';
import { STORE } from '../../store/limits.ts';
import { DESCRIPTORS } from '../../system/limits.ts';

const DIRECT_BLOCK = 4096;
const WASM_PAGE = 65_536;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

describe('blobs', () => {
  test('a small blob is smaller than a chunk, so one buffer holds it', () => {
    expect(STORE.inlineBytes).toBeLessThanOrEqual(STORE.chunkBytes);
  });

  test('chunks are whole blocks of direct writes and whole pages of the pool', () => {
    expect(STORE.chunkBytes % DIRECT_BLOCK).toBe(0);
    expect(STORE.chunkBytes % WASM_PAGE).toBe(0);
  });

  test('a direct write has more than one chunk, and an upload syncs whole chunks', () => {
    expect(STORE.directBytes).toBeGreaterThan(STORE.chunkBytes);
    expect(STORE.uploadSyncBytes % STORE.chunkBytes).toBe(0);
  });

  test('buffers of all open files, and the decoded Trees, fit in the memory of a small server', () => {
    expect(2 * STORE.openFiles * STORE.chunkBytes).toBeLessThanOrEqual(GIB / 2);
    expect(STORE.pooledBuffers * STORE.chunkBytes).toBeLessThanOrEqual(64 * MIB);
    expect(STORE.concurrentTrees * STORE.maxTreeBytes).toBeLessThanOrEqual(128 * MIB);
    expect(STORE.memoResults * STORE.memoResultBytes).toBeLessThanOrEqual(4 * MIB);
  });

  test('a pool slot counts its chunks in a byte, in which 255 has another meaning', () => {
    expect(STORE.pooledBuffers).toBeLessThan(255);
  });
});

describe('uploads in parts', () => {
  test('an upload is idle before it is stale, and stale before it is abandoned', () => {
    expect(STORE.idleUploadMs).toBeLessThan(STORE.staleUploadMs);
    expect(STORE.staleUploadMs).toBeLessThan(STORE.abandonedUploadMs);
  });

  test('a full store sweeps more often, and both sweep before an upload is abandoned', () => {
    expect(STORE.fullSweepMs).toBeLessThan(STORE.sweepMs);
    expect(STORE.sweepMs).toBeLessThan(STORE.abandonedUploadMs);
  });

  test('a process keeps no more uploads ready than the store has', () => {
    expect(STORE.readyUploads).toBeLessThanOrEqual(STORE.maxUploads);
  });
});

describe('leases and the logical clock', () => {
  test('a renewal window has whole ticks, and more than one', () => {
    expect(STORE.leaseTicks % STORE.leaseWindows).toBe(0);
    expect(STORE.leaseTicks / STORE.leaseWindows).toBeGreaterThan(1);
  });

  test('cached values of the clock are younger than a tick', () => {
    expect(STORE.tickSlackMs).toBeLessThan(STORE.leaseMs / STORE.leaseTicks);
  });

  test('the index keeps the ticks of the longest lease, that of a result', () => {
    const windows = 1 + 2 / STORE.leaseWindows;
    expect(STORE.keptTicks).toBeGreaterThan(2 * windows * STORE.leaseTicks);
  });

  test('a lease outlives every wait of a transfer', () => {
    expect(STORE.leaseMs).toBeGreaterThan(STORE.openFilesWaitMs + DESCRIPTORS.waitMs);
    expect(STORE.leaseMs).toBeGreaterThan(STORE.staleUploadMs);
  });
});

describe('space and eviction', () => {
  test('background eviction ends below where it begins, and begins below the limit', () => {
    expect(STORE.evictTo).toBeGreaterThan(0);
    expect(STORE.evictTo).toBeLessThan(STORE.evictFrom);
    expect(STORE.evictFrom).toBeLessThan(1);
  });

  test('the index leaves a part of the limit to large blobs and the quarantine', () => {
    expect(STORE.indexShare + STORE.quarantineShare).toBeLessThan(1);
  });

  test('default limits leave a part of the disk to others', () => {
    expect(STORE.clientShare).toBeLessThanOrEqual(STORE.serverShare);
    expect(STORE.serverShare).toBeLessThan(1);
  });

  test('gc removes more entries per commit than background eviction', () => {
    expect(STORE.gcEntries).toBeGreaterThan(STORE.evictEntries);
  });

  test('a slow write is seen by measures of the usage, and before a server cuts a silent client', () => {
    expect(STORE.slowWriteMs).toBeGreaterThan(STORE.usageMs);
    expect(STORE.slowWriteMs).toBeLessThan(SERVER.noProgressMs);
  });
});

describe('the index file', () => {
  test('the reserve of the disk holds many commits, and a small blob with its commit', () => {
    expect(STORE.minFreeBytes).toBeGreaterThanOrEqual(8 * (STORE.inlineBytes + STORE.commitBytes));
  });

  test('one answer about free space is good for many small blobs', () => {
    expect(STORE.freeSpaceBytes).toBeGreaterThanOrEqual(8 * (STORE.inlineBytes + STORE.commitBytes));
  });

  test('the map is far larger than what a command keeps resident', () => {
    expect(STORE.mappedBytes).toBeLessThan(STORE.indexMapBytes);
  });

  test('a commit waits less long than the answers that it relies on are used', () => {
    expect(STORE.serverCommitDelayMs).toBeLessThan(Math.min(STORE.freeSpaceMs, STORE.sameFileMs));
  });
});

describe('open files', () => {
  test('retries of an open are shorter than the wait for a permit', () => {
    expect(DESCRIPTORS.pollMs).toBeLessThan(DESCRIPTORS.waitMs);
    expect(DESCRIPTORS.waitMs).toBeLessThan(STORE.openFilesWaitMs);
  });

  test('the usual descriptor limit of Linux holds the open files and the reserved descriptors', () => {
    expect(STORE.openFiles + STORE.reservedDescriptors).toBeLessThan(1024);
  });
});
