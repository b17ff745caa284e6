// SHA-256 in JavaScript, for who hashes too little to load OpenSSL for it (sha256.ts).
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** In lower-case hex. */
export function smallSha256(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}
