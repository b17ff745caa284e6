// The faults that the tests inject, each with the guarantee that must hold and the test that shows it.
// scripts/reliability-page.ts makes docs/RELIABILITY.md from this list and the figures that the tests record.

export interface Fault {
  readonly fault: string;
  readonly promise: string;
  /** The test file that records the figures. */
  readonly test: string;
}

export const FAULTS = {
  'server-kill': {
    fault: 'kill -9 of the server during uploads over HTTP and gRPC, and while it starts',
    promise:
      'no torn response; HEAD and GET agree; nothing acknowledged is lost; a result is served only with all its blobs',
    test: 'test/crash/server-kill.test.ts',
  },
  'adapter-kill': {
    fault:
      'kill -9 of the server during uploads by the protocols of Turborepo, Nx, Gradle, ccache and Rush, WebDAV, S3, Azure blocks, GitHub Actions’ cache and resumable HTTP',
    promise:
      'no torn response; HEAD and GET agree; nothing acknowledged is lost; a resumable upload continues',
    test: 'test/crash/adapter-kill.test.ts',
  },
  'client-kill': {
    fault: 'kill -9 of `assay run` while it runs a command or restores outputs',
    promise: 'the next run gives the right outputs, and no files or processes are left behind',
    test: 'test/crash/client-kill.test.ts',
  },
  'verify-kill': {
    fault: 'kill -9 of `assay verify` on a damaged store',
    promise:
      'all damage is found in the end; no intact blob is lost; each verify continues where the last one stopped',
    test: 'test/crash/verify-kill.test.ts',
  },
  'eviction-kill': {
    fault: 'kill -9 of a store that evicts all the time and takes a resumable upload',
    promise:
      'leased entries are present; what is present is whole; the upload continues at its acknowledged offset',
    test: 'test/crash/eviction-kill.test.ts',
  },
  'power-loss': {
    fault: 'power loss at any moment: recorded writes, cut at every point and reordered between syncs',
    promise: 'no wrong bytes; nothing acknowledged is lost; the store opens and accepts writes',
    test: 'test/crash/power-loss.test.ts',
  },
  'disk-errors': {
    fault:
      'EIO on each sync in turn, ENOSPC and EIO on each write and rename in turn, injected into a running server',
    promise: 'nothing is acknowledged that may be lost; the server stays up and recovers without a restart',
    test: 'test/crash/disk-errors.test.ts',
  },
  'small-disk': {
    fault: 'a disk of 16 MiB, and 2,000 uploads of twice that size in total',
    promise:
      'each upload is stored whole or refused; a result is refused if its blob was; every read is right',
    test: 'test/crash/small-disk.test.ts',
  },
  'rotten-disk': {
    fault: '1,000 flipped bits and 1,000 truncated files under a running server that has just served them',
    promise:
      'none is served whole; each blob is quarantined, is then missing, and is repaired by the next upload',
    test: 'test/crash/rotten-disk.test.ts',
  },
  'few-descriptors': {
    fault: '128 file descriptors, 1,000 uploads and downloads at once',
    promise: 'no crash; no partial response; every descriptor is closed again',
    test: 'test/crash/few-descriptors.test.ts',
  },
  'slow-sockets': {
    fault:
      '2,000 connections that stay silent, send headers and bodies byte by byte, never read their response, or begin HTTP/2 and stop; then 1,600 more',
    promise:
      'healthy clients are always served; memory grows by less than 64 MiB, or 128 MiB with the 1,600; slow clients stay until more than 80 % of all connections are in use, and are then cut',
    test: 'test/attack/slow-sockets.test.ts',
  },
  'index-load': {
    fault:
      'two processes that write and evict, one that verifies and copies, and one that holds a read transaction, on one full store; each is killed and stopped at seeded moments',
    promise:
      'no page of the index is in two places; every blob has the right bytes; nothing crashes. LMDB refuses a commit now and then, and leaks pages',
    test: 'test/crash/index-load.test.ts',
  },
  churn: {
    fault: 'writes of ten times the size of a store of 64 MiB that is always full; 20 clients, 100,000 hits',
    promise: 'every entry that a response named is present, with the right bytes, until its lease ends',
    test: 'test/store/disk/churn.test.ts',
  },
  model: {
    fault: 'a million random operations, evictions included, on one store opened twice, compared with a Map',
    promise: 'the store gives the same answers as the Map',
    test: 'test/store/model.test.ts',
  },
  clock: {
    fault: 'the wall clock steps a year forward and back',
    promise: 'nothing is evicted before its lease ends, and every lease ends',
    test: 'test/store/disk/space/eviction.test.ts',
  },
  bombs: {
    fault: 'decompression bombs: 10 KiB that inflate to 320 MiB, 320 KiB to 10 GiB, 5,000 stacked encodings',
    promise:
      'each is refused after at most 256 MiB of output; nothing of it is stored; memory grows by at most 32 MiB',
    test: 'test/attack/bombs.test.ts',
  },
  'hostile-trees': {
    fault:
      'hostile results (`..`, absolute paths, links, NUL, duplicate names, names of 4,096 bytes), and folders that are replaced by links during restores',
    promise: 'no byte outside the workspace is written or changed',
    test: 'test/attack/hostile-trees.test.ts',
  },
  'fleet-faults': {
    fault:
      'three servers with one elected janitor and both limits, on one PostgreSQL and one S3 store, with faults in each schedule: kill -9 and SIGSTOP of a server, and of the janitor in its round, a network that is cut, deaf, mute, slow or loses packets, a crash of PostgreSQL, S3 that refuses, cuts, truncates, hangs, denies or repeats, clocks off by an hour, a rotten tier; in each fourth a restored dump or a new database on the same prefix, and either adopts it',
    promise:
      'every hit has the right bytes; nothing is missing within its lease; a key has one first result, and a label one result at a time; every eviction ends within 5 % of its target; neither of two databases deletes what the other one wrote; at rest, index and bucket agree',
    test: 'wings/fleet/test/crash/fleet-faults.test.ts',
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
