// The empty-blob layer: the empty blob is always present. REAPI clients name it without ever sending it.
//
// Sits above verify, because there are no bytes to verify, and below everything that calls `missing`.
import { type Digest, digestOf, EMPTY } from '../../core/digest.ts';
import { collect, refuseMismatch } from '../shared/expected.ts';
import type { Blobs, Content, Expected, SmallBlob } from '../store.ts';

const EMPTY_BLOB: SmallBlob = { size: 0, bytes: Buffer.alloc(0) };

export function withEmptyBlob(blobs: Blobs): Blobs {
  return {
    get: (hash) => (hash === EMPTY.hash ? Promise.resolve(EMPTY_BLOB) : blobs.get(hash)),
    put: (expected, content) =>
      expected.hash === EMPTY.hash ? takeNothing(expected, content) : blobs.put(expected, content),
    missing: (digests) =>
      blobs.missing(digests.some(isEmpty) ? digests.filter((digest) => !isEmpty(digest)) : digests),
    touch: (hashes) => blobs.touch(hashes.filter((hash) => hash !== EMPTY.hash)),
  };
}

/**
 * Compares the size first: `missing` is called with thousands of digests, whose hashes may not be text yet.
 */
function isEmpty(digest: Digest): boolean {
  return digest.size === 0 && digest.hash === EMPTY.hash;
}

async function takeNothing(expected: Expected, content: Content): Promise<Digest> {
  refuseMismatch(expected, digestOf(await collect({ ...expected, size: 0 }, content)));
  return EMPTY;
}
