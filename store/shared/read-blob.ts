// Reads a whole blob into memory: for messages and logs, never for artifacts.
import type { Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { BlobReader } from '../../store/store.ts';

export async function readBlob(hash: Hash, blobs: BlobReader): Promise<Buffer> {
  const blob = await blobs.get(hash);
  if (!blob) throw new AssayError('ASSAY_NOT_FOUND', `the store no longer has ${hash}`);
  if (blob.bytes) return blob.bytes;
  const whole = Buffer.allocUnsafe(blob.size);
  let filled = 0;
  for await (const chunk of blob.chunks()) filled += chunk.copy(whole, filled);
  return whole;
}
