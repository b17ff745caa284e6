// Blobs one after another, as one content. Each is verified as it is read, and one that is gone by then ends it all.
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Blobs } from '../../../store/store.ts';

export async function* concatenated(blobs: Blobs, parts: readonly Digest[]): AsyncGenerator<Buffer> {
  for (const { hash } of parts) {
    const blob = await blobs.get(hash);
    if (!blob) throw new AssayError('ASSAY_RESULT_INCOMPLETE', `${hash} is gone; upload it again`);
    if (blob.bytes) yield blob.bytes;
    else yield* blob.chunks();
  }
}
