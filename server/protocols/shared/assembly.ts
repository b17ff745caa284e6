// Assembles a blob from stored parts: SpliceBlob and Azure's block lists. The result is at most
// SERVER.maxAssemblyRatio times as large as its distinct parts, and few assemblies run at once: a short
// message can name one part many times.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../store/limits.ts';
import { Semaphore } from '../../../store/shared/semaphore.ts';
import type { Blobs } from '../../../store/store.ts';
import { SERVER } from '../../limits.ts';

/** One semaphore for all protocols. */
export const assemblies = new Semaphore({
  permits: SERVER.maxAssemblies,
  maxWaiting: SERVER.maxQueuedAssemblies,
  waitMs: SERVER.assemblyQueueMs,
});

/** The total size. Throws if it is too large, absolutely or compared with its distinct parts. */
export function assembledSize(parts: readonly Digest[], maxBytes: number): number {
  const size = sizeOf(parts);
  if (size > maxBytes) throw new AssayError('ASSAY_TOO_LARGE', `the limit for a blob is ${maxBytes} bytes`);
  const distinct = sizeOf(new Map(parts.map((part) => [part.hash, part])).values());
  if (size > SERVER.maxAssemblyRatio * distinct) {
    throw new AssayError(
      'ASSAY_TOO_LARGE',
      `${size} bytes of parts that have ${distinct} bytes: the limit is ${SERVER.maxAssemblyRatio} times as many`,
    );
  }
  return size;
}

function sizeOf(parts: Iterable<Digest>): number {
  let size = 0;
  for (const part of parts) size += part.size;
  return size;
}

/**
 * Yields the content of the parts. The store verifies each part as it is read. Throws `missingPart` for a
 * missing part. Small parts are in memory, so the loop yields to the event loop after each STORE.chunkBytes.
 */
export async function* assembled(
  parts: readonly Digest[],
  blobs: Blobs,
  missingPart: (part: Digest) => AssayError,
): AsyncGenerator<Buffer, void, void> {
  let inTurn = 0;
  for (const part of parts) {
    const blob = await blobs.get(part.hash);
    if (blob?.size !== part.size) throw missingPart(part);
    if (!blob.bytes) yield* blob.chunks();
    else {
      yield blob.bytes;
      inTurn += blob.bytes.length;
    }
    if (inTurn < STORE.chunkBytes) continue;
    inTurn = 0;
    await nextTurn();
  }
}
