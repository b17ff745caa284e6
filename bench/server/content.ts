// Blobs that are all different and cheap to make and hash: random bytes that all blobs of a job share, then a
// few of their own.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';

const SHARED_BYTES = 64 * 1024 * 1024;
const OWN_BYTES = 16;
const PIECE_BYTES = 256 * 1024;

export interface Made {
  readonly hash: string;
  readonly body: Buffer | Readable;
}

export function contentMaker(bytes: number): () => Made {
  const repeats = Math.ceil(bytes / SHARED_BYTES);
  const shared = randomBytes(Math.floor((bytes - OWN_BYTES) / repeats));
  const begun = createHash('sha256');
  for (let repeat = 0; repeat < repeats; repeat++) begun.update(shared);
  return () => {
    const own = randomBytes(bytes - shared.length * repeats);
    const hash = begun.copy().update(own).digest('hex');
    return {
      hash,
      body: bytes <= PIECE_BYTES ? Buffer.concat([shared, own]) : Readable.from(pieces(shared, repeats, own)),
    };
  };
}

async function* pieces(shared: Buffer, repeats: number, own: Buffer): AsyncGenerator<Buffer> {
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let at = 0; at < shared.length; at += PIECE_BYTES) yield shared.subarray(at, at + PIECE_BYTES);
  }
  yield own;
}
