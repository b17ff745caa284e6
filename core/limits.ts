// The bounds of the shared language: messages, trees and hashing. Each other room keeps its own in its limits.ts.
import { KIB, MIB } from './units.ts';

export const MESSAGE = {
  /** Fields of one message at all depths: about ten for each of 100,000 files. */
  maxFields: 1_000_000,
} as const;

export const EXPANDED_TREE = {
  /** A small Tree can name one folder many times over; restoring it stops here. */
  maxEntries: 2_000_000,
  /** The same for the characters of all its paths together. */
  maxPathLength: 256 * MIB,
} as const;

export const SMALL_HASH = {
  /** Up to this much in all is hashed without OpenSSL; beyond it, loading OpenSSL costs less than doing without. */
  totalBytes: 32 * KIB,
} as const;
