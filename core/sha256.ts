// SHA-256, and the one door to node:crypto.
//
// Loading node:crypto takes Node 9 ms, as much as all the rest of a hit, and a hit hashes about two kilobytes. So the
// first few kilobytes of a process are hashed in JavaScript, and OpenSSL is loaded when more comes or when something
// else of node:crypto is asked for. Bun has SHA-256 built in (docs/decisions/0031).
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

/** In lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  if (bun) return bun.SHA256.hash(bytes, 'hex');
  if (loaded || bytes.length > smallBytesLeft) return nodeCrypto().hash('sha256', bytes, 'hex');
  smallBytesLeft -= bytes.length;
  return smallSha256(bytes);
}
