// The limits of the language: messages, trees and hashing. Each other room has its own limits.ts.
import { KIB, MIB, SECOND } from './units.ts';

export const MESSAGE = {
  /** Fields of one message at all depths: ten for each of 100,000 files. */
  maxFields: 1_000_000,
} as const;

export const EXPANDED_TREE = {
  /** A small Tree can name one folder many times. A Tree with more entries than this is refused. */
  maxEntries: 2_000_000,
  /** The limit for the total length of its paths. */
  maxPathLength: 256 * MIB,
} as const;

export const CLI = {
  /** How often a person sees the progress of a long command, and how often a program does. */
  progressMs: 10 * SECOND,
  progressJsonMs: 1 * SECOND,
} as const;

export const SMALL_HASH = {
  /**
   * A process hashes its first bytes, up to this total, without OpenSSL. Beyond it, loading OpenSSL is
   * faster.
   */
  totalBytes: 32 * KIB,
} as const;

export const PATH_SETS = {
  /** Path sets of one action that a server lists, and candidates in one request. */
  maxListed: 64,
  /** The largest path set in a list, and all path sets of one answer. */
  maxSetBytes: 4 * MIB,
  maxListBytes: 4 * MIB,
} as const;

/** What clients and servers write as a name. */
export const NAMES = {
  /** A namespace. */
  maxNamespaceLength: 255,
  /** A name in a path, as file systems have it, and a whole path. */
  maxFileNameBytes: 255,
  maxPathLength: 4096,
} as const;
