// The end of a log, as an answer has it.
// Guarantee: at most DASHBOARD.shownLogBytes are read, whatever size a result or a report gives its log.
import { type Digest, digestOf } from '../../core/digest.ts';
import type { BlobReader } from '../../store/store.ts';
import type { LogText } from './api/schemas/parts.ts';
import { DASHBOARD } from './limits.ts';

/** Without text if the server does not have it. `raw`: the log itself, in a result that holds it. */
export async function logText(digest: Digest | undefined, raw: Buffer, blobs: BlobReader): Promise<LogText> {
  if (!digest || digest.hash === digestOf(raw).hash) return endOf(raw.length, raw);
  try {
    const blob = await blobs.get(digest.hash);
    if (!blob) return { bytes: digest.size, isCut: false };
    if (blob.bytes) return endOf(blob.size, blob.bytes);
    const pieces: Buffer[] = [];
    const offset = Math.max(0, blob.size - DASHBOARD.shownLogBytes);
    for await (const piece of blob.chunks(offset)) pieces.push(Buffer.from(piece));
    return endOf(blob.size, Buffer.concat(pieces));
  } catch {
    return { bytes: digest.size, isCut: false };
  }
}

function endOf(size: number, bytes: Buffer): LogText {
  const isCut = size > DASHBOARD.shownLogBytes;
  return { bytes: size, text: bytes.subarray(-DASHBOARD.shownLogBytes).toString('utf8'), isCut };
}
