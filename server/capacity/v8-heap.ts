// Two settings of V8's garbage collector that keep the pauses of a busy server short.
//
// 1. Buffers outside the heap count as part of the heap, so they die with the young generation.
// 2. While many clients are connected, neither generation may grow much. The young generation doubles when many objects
//    survive, as when thousands connect at once, and never shrinks; collecting it then takes as long as it is large. The old
//    generation would otherwise collect dead connections only at three times the live size (docs/MEASUREMENTS.md#0208).
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SERVER } from '../limits.ts';

/**
 * By default V8 marks its whole heap after every 64 MB of buffers, even if most are garbage. That is a
 * quarter of the cost of an upload over gRPC (docs/decisions/0150). Later versions of V8 always count them
 * with the heap.
 */
export function countExternalMemoryWithHeap(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}

/** Growth of the old generation, in percent, before it is collected. */
const OLD_GENERATION_GROWTH = { normal: 200, crowd: 60 };

/**
 * Only a last-resort collection shrinks the young generation to its initial size. It marks the heap several
 * times, 5 ms each for 25 MiB, so a large heap gets an ordinary collection.
 */
const LAST_RESORT = { type: 'major', execution: 'sync', flavor: 'last-resort' };
const ORDINARY = { type: 'major', execution: 'sync' };
const LARGE_HEAP_BYTES = 128 * 1024 * 1024;

let collectedAt = Number.NEGATIVE_INFINITY;

/**
 * V8 reads the flags when a generation would grow. It fixes the next size of the old generation at the end of
 * a collection, so a crowd begins with one.
 */
export function keepHeapSmall(isCrowded: boolean, now = performance.now()): void {
  const { normal, crowd } = OLD_GENERATION_GROWTH;
  setFlagsFromString(`--semi-space-growth-factor=${isCrowded ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isCrowded ? crowd : normal}`);
  if (!isCrowded || now < collectedAt + SERVER.heapCollectMs) return;
  collectedAt = now;
  collectGarbage();
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  const isLarge = getHeapStatistics().used_heap_size >= LARGE_HEAP_BYTES;
  if (typeof collect === 'function') collect(isLarge ? ORDINARY : LAST_RESORT);
}
