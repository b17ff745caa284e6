// Buffers of a chunk or a few, used again from transfer to transfer: fresh ones of that size cost the kernel a page fault
// for every page. Each transfer in progress holds one or two; beyond STORE.pooledBuffers they are fresh after all.
//
// The pool is the memory of a WebAssembly instance that runs nothing, because that begins at a page's beginning. A file
// that is written past the page cache takes only such memory (disk/staging-file.ts), and node:buffer promises nothing.
import { STORE } from '../limits.ts';

/** Left out by the types of Node. */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

const WASM_PAGE = 64 * 1024;
/** For each slot of the pool: how many are taken from there on, or one of these. */
const IDLE = 0;
const CONTINUATION = 255;
const slots = new Uint8Array(STORE.pooledBuffers);
let pool: ArrayBuffer | undefined;

/** Of so many chunks if as many lie idle side by side, and of one otherwise. */
export function acquireBuffer(chunks = 1): Buffer {
  pool ??= makePool();
  const slot = findIdle(chunks);
  if (slot !== -1) return take(pool, slot, chunks);
  return chunks > 1 ? acquireBuffer() : Buffer.allocUnsafeSlow(STORE.chunkBytes);
}

/** Takes the beginning of a taken buffer too. Exactly once for each: two transfers in one buffer would mix their bytes. */
export function releaseBuffer(buffer: Buffer): void {
  if (!isPooled(buffer)) return;
  const slot = buffer.byteOffset / STORE.chunkBytes;
  slots.fill(IDLE, slot, slot + (slots[slot] ?? 0));
}

/** It lies in a buffer that was taken, and not in a fresh one. */
export function isPooled(bytes: Uint8Array): boolean {
  return bytes.buffer === pool;
}

/** Single ones from the end and others from the beginning, so that neighbours stay together. */
function findIdle(chunks: number): number {
  if (chunks === 1) return slots.lastIndexOf(IDLE);
  return slots.findIndex((_, slot) => {
    const neighbours = slots.subarray(slot, slot + chunks);
    return neighbours.length === chunks && neighbours.every((state) => state === IDLE);
  });
}

function take(memory: ArrayBuffer, slot: number, chunks: number): Buffer {
  slots.fill(CONTINUATION, slot, slot + chunks);
  slots[slot] = chunks;
  return Buffer.from(memory, slot * STORE.chunkBytes, chunks * STORE.chunkBytes);
}

/** The kernel gives no page of it before it is written to. */
function makePool(): ArrayBuffer {
  const pages = (STORE.pooledBuffers * STORE.chunkBytes) / WASM_PAGE;
  return new WebAssembly.Memory({ initial: pages, maximum: pages }).buffer;
}
