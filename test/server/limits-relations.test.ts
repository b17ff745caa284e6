// Relations between the server's limits, which the code relies on.
import { expect, test } from 'vitest';
import { ACCESS, SERVER, ZSTD } from '../../server/limits.ts';
import { STORE } from '../../store/limits.ts';

test.each<[string, number, number]>([
  ['a short token fits into a header', ACCESS.maxShortTokenLength, SERVER.maxHeaderBytes],
  ['a result fits into a gRPC message', SERVER.maxResultBytes, SERVER.maxGrpcMessageBytes],
  ['a result fits into a blob', SERVER.maxResultBytes, SERVER.maxBlobBytes],
  ['a batch fits into a gRPC message', SERVER.maxBatchBytes, SERVER.maxGrpcMessageBytes],
  ['under pressure a client has less time', SERVER.pressureNoProgressMs, SERVER.noProgressMs],
  ['a sweep is shorter than the time limits that it enforces', SERVER.sweepMs, SERVER.lingerMs],
  ['a crowd is smaller than the limit of connections', SERVER.crowdConnections, SERVER.maxConnections],
  ['a small body fits into the upload buffer', STORE.inlineBytes, SERVER.uploadBufferBytes],
  [
    'the upload buffers of a connection fit into its window',
    SERVER.uploadBufferBytes,
    SERVER.connectionWindowBytes,
  ],
  ['a copy is at most one write', SERVER.copyBufferBytes, SERVER.maxWriteBytes],
  ['a write is smaller than a chunk', SERVER.maxWriteBytes, STORE.chunkBytes],
  ['reads are a part of the downloads', SERVER.maxReads, SERVER.maxDownloads],
  [
    'a result with its blobs is smaller than a large response',
    SERVER.inlinedBlobsBytes,
    SERVER.responseMemoryBytes,
  ],
  ['the first input of zstd is smaller than a piece', ZSTD.firstInputBytes, ZSTD.pieceBytes],
])('%s', (_name, smaller, larger) => {
  expect(smaller).toBeLessThan(larger);
});

test('a write is a whole number of copies', () => {
  expect(SERVER.maxWriteBytes % SERVER.copyBufferBytes).toBe(0);
});

test('the shares of pressure are shares', () => {
  for (const share of [SERVER.pressureConnections, SERVER.pressureMemory]) {
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(1);
  }
});
