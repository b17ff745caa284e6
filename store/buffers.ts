// Buffers of one chunk each, used again from transfer to transfer: fresh ones of that size cost the kernel a page fault
// for every page. Only what lies idle is bounded here; each transfer in progress holds one or two.
import { STORE } from '../core/limits.ts';

const idle: Buffer[] = [];

export function takeBuffer(): Buffer {
  return idle.pop() ?? Buffer.allocUnsafeSlow(STORE.chunkBytes);
}

/** Takes the beginning of a taken buffer too. Exactly once for each: two transfers in one buffer would mix their bytes. */
export function giveBack(chunk: Buffer): void {
  const whole = Buffer.from(chunk.buffer);
  if (whole.length === STORE.chunkBytes && idle.length < STORE.pooledBuffers) idle.push(whole);
}
