// The faults that Assay is held against, each with what it promises and the test that shows it. docs/RELIABILITY.md is
// made of this and of the figures that the tests keep.

export interface Fault {
  readonly fault: string;
  readonly promise: string;
  /** Whose tests keep the figures. */
  readonly test: string;
}

export const FAULTS = {
  'server-kill': {
    fault: 'kill -9 of the server during uploads over HTTP and gRPC, and while it starts',
    promise:
      'no torn answer; HEAD and GET agree; nothing acknowledged lost; a result only with all that it names',
    test: 'test/crash/server-kill.test.ts',
  },
  'adapter-kill': {
    fault:
      'kill -9 of the server during uploads by Turborepo’s, Nx’s, Gradle’s, ccache’s, Rush’s protocols, WebDAV, S3, Azure’s blocks, GitHub Actions’ cache and resumable HTTP',
    promise: 'no torn answer; HEAD and GET agree; nothing acknowledged lost; an upload in parts goes on',
    test: 'test/crash/adapter-kill.test.ts',
  },
  'client-kill': {
    fault: 'kill -9 of `assay run` while it runs a command or restores outputs',
    promise: 'the next run is right, and nothing is left behind',
    test: 'test/crash/client-kill.test.ts',
  },
  'verify-kill': {
    fault: 'kill -9 of `assay verify` on a store with damage in it',
    promise:
      'all damage is found in the end, nothing whole is lost, and each verify goes on where the last one was',
    test: 'test/crash/verify-kill.test.ts',
  },
  'eviction-kill': {
    fault: 'kill -9 of a store that evicts all the time and takes an upload in parts',
    promise:
      'what an answer has named is there, what is there is whole, the upload goes on where it was acknowledged',
    test: 'test/crash/eviction-kill.test.ts',
  },
  'power-loss': {
    fault: 'Power loss at any moment: recorded writes, cut everywhere and reordered between syncs',
    promise: 'no wrong bytes, nothing acknowledged lost, the store opens and takes writes',
    test: 'test/crash/power-loss.test.ts',
  },
  'disk-errors': {
    fault:
      'EIO on each sync in turn, ENOSPC and EIO on each write and rename in turn, injected into a running server',
    promise: 'no acknowledgement of what may be lost; the server lives and recovers without a restart',
    test: 'test/crash/disk-errors.test.ts',
  },
  'small-disk': {
    fault: 'A store on a disk of 16 MiB, 2,000 uploads of twice as much',
    promise: 'each is taken whole or refused, a result also because its blob was; every read is right',
    test: 'test/crash/small-disk.test.ts',
  },
  'rotten-disk': {
    fault: '1,000 flipped bits and 1,000 files cut short under a running server that has just served them',
    promise:
      'none is served whole; each is quarantined, is missing from then on, and is healed by the next upload',
    test: 'test/crash/rotten-disk.test.ts',
  },
  'few-descriptors': {
    fault: '128 file descriptors, 1,000 uploads and downloads at once',
    promise: 'no crash, no partial answer, every descriptor given back',
    test: 'test/crash/few-descriptors.test.ts',
  },
  'slow-sockets': {
    fault:
      '2,000 connections that say nothing, dribble headers and bodies, never read their answer, or begin HTTP/2 and stop; then 1,600 more',
    promise:
      'healthy clients are served all the time; memory grows by less than 64 MiB, and 128 with the 1,600; slow ones are waited for, and cut when more than 80 % of all connections are in use',
    test: 'test/attack/slow-sockets.test.ts',
  },
  churn: {
    fault: '10x churn through a store of 64 MiB that is always full, 20 clients, 100,000 hits',
    promise: 'whatever an answer has named is there, with the right bytes, until its lease ends',
    test: 'test/store/disk/churn.test.ts',
  },
  model: {
    fault: 'A million random operations on two openings of one store, evictions among them, against a Map',
    promise: 'the store answers what the Map does',
    test: 'test/store/model.test.ts',
  },
  clock: {
    fault: 'The clock steps a year forth and back',
    promise: 'nothing is evicted before its lease is over, and no lease lasts for ever',
    test: 'test/store/disk/space/eviction.test.ts',
  },
  bombs: {
    fault: '10 KiB that inflate to 320 MiB, 320 KiB to 10 GiB, 5,000 stacked encodings',
    promise:
      'each is refused after at most 256 MiB of it, nothing of it is kept, memory grows by 32 MiB at most',
    test: 'test/attack/bombs.test.ts',
  },
  'hostile-trees': {
    fault:
      'Hostile results (.., absolute, links, NUL, twins, 4,096 long), and folders that are swapped for links during restores',
    promise: 'not one byte outside the workspace is written or changed',
    test: 'test/attack/hostile-trees.test.ts',
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
