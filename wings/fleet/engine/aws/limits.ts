// The limits of reading credentials.
import { KIB, MINUTE, SECOND } from '../../../../core/units.ts';

export const AWS = {
  /** One question to a source of credentials, with its answer. */
  answerMs: 5 * SECOND,
  /** Metadata of the instance is one hop away. Elsewhere nothing answers at its address. */
  metadataMs: 1 * SECOND,
  maxAnswerBytes: 64 * KIB,
  /** Credentials are renewed this long before their end, or in the last quarter of their life if that is shorter. */
  renewBeforeMs: 5 * MINUTE,
  /** A file of credentials is read again this often. */
  fileMs: 1 * MINUTE,
  /** The pause after a renewal that failed: while the old credentials are valid, and after that. */
  retryMs: 10 * SECOND,
  urgentRetryMs: 1 * SECOND,
  /** The shortest time between two renewals because the bucket refuses the credentials. */
  replaceMs: 10 * SECOND,
  /** How long an instance's session token is to be valid, in seconds. */
  metadataTokenSeconds: 60,
} as const;
