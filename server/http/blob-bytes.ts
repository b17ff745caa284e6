// Reads a whole blob into memory. The caller must have checked its size.
import type { Blob } from '../../store/store.ts';
import { truncatedBlob } from './send-blob.ts';

export async function wholeBlob(blob: Blob): Promise<Buffer> {
  if (blob.bytes) return blob.bytes;
  const whole = Buffer.allocUnsafe(blob.size);
  let filled = 0;
  for await (const chunk of blob.chunks()) filled += chunk.copy(whole, filled);
  if (filled !== blob.size) throw truncatedBlob(filled, blob.size);
  return whole;
}
