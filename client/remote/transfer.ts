// Moves blobs between the local store and a remote, and says how far it is.
import type { Digest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Blobs, Content } from '../../store/store.ts';
import type { Report } from '../events.ts';
import type { Remote } from './remote.ts';

/** Afterwards all of them are in the local store, which has refused what does not have its digest. */
export async function download(
  digests: readonly Digest[],
  blobs: Blobs,
  remote: Remote,
  report: Report,
): Promise<void> {
  const missing = await blobs.missing(digests);
  if (missing.length === 0) return;
  let done = 0;
  let bytes = 0;
  await remote.getBlobs(missing, async (digest, content) => {
    await blobs.put(digest, content);
    bytes += digest.size;
    report({ type: 'transfer', direction: 'down', done: ++done, of: missing.length, bytes });
  });
}

/** From the store, not from the workspace: what was sealed is what is shared, whatever happens to the files meanwhile. */
export async function upload(
  digests: readonly Digest[],
  blobs: Blobs,
  remote: Remote,
  report: Report,
): Promise<void> {
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
}

async function read({ hash }: Digest, offset: number, blobs: Blobs): Promise<Content> {
  const blob = await blobs.get(hash);
  if (!blob) throw new AssayError('ASSAY_BLOB_CORRUPT', `the local store lost ${hash}`);
  return blob.bytes ? blob.bytes.subarray(offset) : blob.chunks(offset);
}
