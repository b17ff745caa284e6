// Every limit of the cache protocol of Vite+.
import { KIB, MIB } from '../../core/units.ts';

export const VITE_PLUS = {
  /** A question: two keys. A key has the arguments of a task and its variables, some 1 KiB. */
  maxQuestionBytes: 1 * MIB,
  /** Two keys and the value: the paths and hashes of all inputs, some 60 bytes each. It is parsed in memory. */
  maxMetadataBytes: 16 * MIB,
  /** The headers of one part of a body. */
  maxPartHeaderBytes: 4 * KIB,
  maxPartHeaders: 16,
  /** What a body has beside its parts: boundaries and headers. */
  maxFramingBytes: 16 * KIB,
} as const;
