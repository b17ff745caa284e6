// SHA-256 in JavaScript, for a process that hashes only a few kilobytes.
// Apart from sha256.ts, so that the bundle loads it at the first call (scripts/late.ts).
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** The hash in lower-case hex. */
export function smallSha256(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}
