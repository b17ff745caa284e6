// The relations between the client's limits. A change of one constant that breaks another fails here.
import { describe, expect, test } from 'vitest';
import { GRAPH, GRPC_REMOTE, INDEX, OBSERVED, REMOTE, RUN } from '../../client/limits.ts';
import { STORE } from '../../store/limits.ts';

describe('output locks', () => {
  test('a live owner touches its lock several times before the lock is stale', () => {
    expect(RUN.lockPollMs).toBeLessThan(RUN.lockBeatMs);
    expect(5 * RUN.lockBeatMs).toBeLessThanOrEqual(RUN.lockStaleMs);
    expect(RUN.lockStaleMs).toBeLessThan(RUN.lockSilentMs);
    expect(RUN.lockSilentMs).toBeLessThan(RUN.foreignStagingMs);
  });
});

describe('the remote', () => {
  test('a silent remote costs less than the two seconds that README promises', () => {
    expect(REMOTE.silentMs).toBeLessThan(2_000);
    expect(REMOTE.tickMs).toBeLessThan(REMOTE.lateTickMs);
    expect(REMOTE.lateTickMs).toBeLessThan(REMOTE.silentMs);
  });

  test('a response with inlined blobs fits into a result, and into what the client keeps of them', () => {
    expect(REMOTE.inlinedBlobsBytes).toBeLessThan(REMOTE.maxResultBytes);
    expect(REMOTE.inlinedBlobsBytes).toBeLessThan(REMOTE.heldInlinedBytes);
  });

  test('a result that waits for its upload is leased again long before its lease ends', () => {
    expect(2 * REMOTE.leaseUnsharedMs).toBeLessThan(STORE.leaseMs);
    expect(REMOTE.leaseUnsharedMs).toBeLessThan(REMOTE.unsharedMs);
  });

  test('a blob of a batch fits into a batch, and a batch into a message', () => {
    expect(GRPC_REMOTE.batchedBlobBytes).toBeLessThan(GRPC_REMOTE.batchBytes);
    expect(GRPC_REMOTE.batchBytes).toBeLessThan(GRPC_REMOTE.maxMessageBytes);
    expect(GRPC_REMOTE.pieceBytes).toBeLessThanOrEqual(GRPC_REMOTE.batchBytes);
  });
});

describe('one run', () => {
  test('blobs that are stored at once fit into the memory that is meant for them', () => {
    expect(RUN.smallPutsAtOnce * STORE.inlineBytes).toBeLessThanOrEqual(RUN.contentCacheBytes);
  });

  test('an inlined log is shorter than its buffer, and the buffer than the longest log', () => {
    expect(RUN.inlineLogBytes).toBeLessThan(RUN.logBufferBytes);
    expect(RUN.logBufferBytes).toBeLessThan(RUN.maxLogBytes);
  });

  test('a path set of a remote is bounded more tightly than our own', () => {
    expect(OBSERVED.maxForeignSetBytes).toBeLessThan(OBSERVED.maxSetBytes);
  });

  test('a watched graph waits longer than the clock of the files is coarse', () => {
    expect(GRAPH.watchSettleMs).toBeGreaterThan(INDEX.granularityMs);
    expect(INDEX.granularityMs).toBeLessThan(INDEX.coarseGranularityMs);
  });
});
