// The faults that Assay is held against, each with what it promises and the test that shows it. docs/RELIABILITY.md is
// made of this and of the figures that the tests keep.

export interface Fault {
  readonly fault: string;
  readonly promise: string;
  /** Whose tests keep the figures. */
  readonly test: string;
}

export const FAULTS = {
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
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
