// A pool of buffers of STORE.chunkBytes each, for transfers. A fresh buffer costs a page fault for every
// page.
// A transfer holds one or two buffers. When the pool is empty, a transfer gets a fresh buffer.
//
// The pool is WebAssembly memory, because that begins at a page boundary. Direct writes
// (disk/files/staging-file.ts) need aligned memory, and node:buffer does not promise it.
import { STORE } from '../limits.ts';

/** Missing from Node's types. */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

const WASM_PAGE = 64 * 1024;
/** The state of each slot: how many slots a buffer takes from here on, or one of these two. */
const IDLE = 0;
const CONTINUATION = 255;
const slots = new Uint8Array(STORE.pooledBuffers);
let pool: ArrayBuffer | undefined;

/** A buffer of that many chunks if so many neighbouring slots are free, otherwise of one chunk. */
export function acquireBuffer(chunks = 1): Buffer {
  pool ??= makePool();
  const slot = findIdle(chunks);
  if (slot !== -1) return take(pool, slot, chunks);
  return chunks > 1 ? acquireBuffer() : Buffer.allocUnsafeSlow(STORE.chunkBytes);
}

/**
 * Accepts a subarray that begins where the buffer begins. Call it exactly once: two transfers in one buffer
 * mix their bytes.
 */
export function releaseBuffer(buffer: Buffer): void {
  if (!isPooled(buffer)) return;
  const slot = buffer.byteOffset / STORE.chunkBytes;
  slots.fill(IDLE, slot, slot + (slots[slot] ?? 0));
}

/** True for memory of the pool, false for a fresh buffer. */
export function isPooled(bytes: Uint8Array): boolean {
  return bytes.buffer === pool;
}

/** Searches single slots from the end and groups from the beginning, so that neighbours stay free. */
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

/** The kernel allocates a page of it when it is first written. */
function makePool(): ArrayBuffer {
  const pages = (STORE.pooledBuffers * STORE.chunkBytes) / WASM_PAGE;
  return new WebAssembly.Memory({ initial: pages, maximum: pages }).buffer;
}
