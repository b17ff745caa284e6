// Moves blobs between the local store and a remote, and reports progress.
import type { Digest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Blobs, Content } from '../../store/store.ts';
import type { Report } from '../terminal/events.ts';
import type { Remote } from './remote.ts';
import { Worth } from './worth.ts';

/**
 * Afterwards the local store has all of them, verified by digest. Throws TooSlow if the download would take
 * longer than the command, as far as known.
 */
export async function download(
  digests: readonly Digest[],
  blobs: Blobs,
  remote: Remote,
  report: Report,
  commandMs?: number,
): Promise<void> {
  const missing = await blobs.missing(digests);
  if (missing.length === 0) return;
  const size = missing.reduce((sum, { size }) => sum + size, 0);
  const worth = new Worth(remote, size, commandMs);
  let done = 0;
  let bytes = 0;
  await remote.getBlobs(missing, async (digest, content) => {
    await blobs.put(digest, metered(content, worth));
    bytes += digest.size;
    report({ type: 'transfer', direction: 'down', done: ++done, of: missing.length, bytes });
  });
}

function metered(content: Content, worth: Worth): Content {
  if (!(content instanceof Uint8Array)) return meteredChunks(content, worth);
  worth.received(content.length);
  return content;
}

async function* meteredChunks(chunks: AsyncIterable<Uint8Array>, worth: Worth): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    worth.received(chunk.length);
    yield chunk;
  }
}

/**
 * Uploads from the store, not from the workspace: the sealed content is shared, even if files change
 * meanwhile. Resolves to the bytes that were sent: those of blobs that the remote lacked.
 */
export async function upload(
  digests: readonly Digest[],
  blobs: Blobs,
  remote: Remote,
  report: Report,
): Promise<number> {
  let done = 0;
  let bytes = 0;
  await remote.putBlobs(
    digests,
    (digest, offset) => read(digest, offset, blobs),
    (digest, sent) => {
      if (sent) bytes += digest.size;
      report({ type: 'transfer', direction: 'up', done: ++done, of: digests.length, bytes });
    },
  );
  return bytes;
}

async function read({ hash }: Digest, offset: number, blobs: Blobs): Promise<Content> {
  const blob = await blobs.get(hash);
  if (!blob) throw new AssayError('ASSAY_BLOB_CORRUPT', `the local store lost ${hash}`);
  return blob.bytes ? blob.bytes.subarray(offset) : blob.chunks(offset);
}
