// SHA-256, and the only access to node:crypto in core/.
//
// Node takes 9 ms to load node:crypto, as long as the rest of a hit, and a hit hashes about two kilobytes. So
// JavaScript hashes the first kilobytes of a process. OpenSSL is loaded for more, or for another algorithm.
// Bun has SHA-256 built in (docs/decisions/0031).
import { bun } from './bun.ts';
import { SMALL_HASH } from './limits.ts';
import { smallSha256 } from './small-sha256.ts';

type NodeCrypto = typeof import('node:crypto');

let loaded: NodeCrypto | undefined;
let smallBytesLeft: number = SMALL_HASH.totalBytes;

/** node:crypto, loaded at the first call. */
export function nodeCrypto(): NodeCrypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}

/** The hash in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  if (bun) return bun.SHA256.hash(bytes, 'hex');
  if (loaded || bytes.length > smallBytesLeft) return nodeCrypto().hash('sha256', bytes, 'hex');
  smallBytesLeft -= bytes.length;
  return smallSha256(bytes);
}
