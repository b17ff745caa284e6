// A blob that is put together from blobs that are here: what it may cost, and its content.
//
// A short message can name one part any number of times. So the whole is at most SERVER.maxAssemblyRatio times as large as
// its distinct parts, and few are put together at once.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../store/limits.ts';
import { Semaphore } from '../../../store/shared/semaphore.ts';
import type { Blobs } from '../../../store/store.ts';
import { SERVER } from '../../limits.ts';

/** For all protocols together. */
export const assemblies = new Semaphore({
  permits: SERVER.maxAssemblies,
  maxWaiting: SERVER.maxQueuedAssemblies,
  waitMs: SERVER.assemblyQueueMs,
});

/** The size of the whole. Refuses one that is too large, or too large for its parts. */
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
 * Each part is verified as it is read; `goneAs` is thrown for one that is gone by then. Small parts lie in memory: others
 * get a turn now and then.
 */
export async function* assembled(
  parts: readonly Digest[],
  blobs: Blobs,
  goneAs: (part: Digest) => AssayError,
): AsyncGenerator<Buffer, void, void> {
  let inTurn = 0;
  for (const part of parts) {
    const blob = await blobs.get(part.hash);
    if (blob?.size !== part.size) throw goneAs(part);
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
