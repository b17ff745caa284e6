// Every limit of `assay prune`.
import { MIB } from '../../core/units.ts';

export const PRUNE = {
  /** Lock files of workspaces with 10,000 packages have some 10 MiB. A larger one would be parsed for minutes. */
  maxLockBytes: 128 * MIB,
  /** Links of a path that are followed, as the kernel does. */
  maxLinks: 40,
} as const;
