// Every limit of `assay verify-release`. The files that it reads whole are small.
import { KIB, MIB } from '../../core/units.ts';

export const RELEASE = {
  /** SHA256SUMS of a release has 20 lines. */
  maxListBytes: MIB,
  /** A public key, or a signature. */
  maxKeyBytes: 64 * KIB,
} as const;
