// Buffers of one chunk each, used again from transfer to transfer: fresh ones of that size cost the kernel a page fault
// for every page. Each transfer in progress holds one or two; beyond STORE.pooledBuffers they are fresh after all.
//
// The pool is the memory of a WebAssembly instance that runs nothing, because that begins at a page's beginning. A file
// that is written past the page cache takes only such memory (disk/staging-file.ts), and node:buffer promises nothing.
import { STORE } from '../core/limits.ts';

/** Left out by the types of Node. */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

const WASM_PAGE = 64 * 1024;
const idle: Buffer[] = [];
let pool: ArrayBuffer | undefined;

export function takeBuffer(): Buffer {
  if (!pool) fillPool();
  return idle.pop() ?? Buffer.allocUnsafeSlow(STORE.chunkBytes);
}

/** Takes the beginning of a taken buffer too. Exactly once for each: two transfers in one buffer would mix their bytes. */
export function giveBack(chunk: Buffer): void {
  if (chunk.buffer === pool) idle.push(Buffer.from(pool, chunk.byteOffset, STORE.chunkBytes));
}

/** It lies in a buffer that was taken, and not in a fresh one. */
export function isPooled(bytes: Uint8Array): boolean {
  return bytes.buffer === pool;
}

/** The kernel gives no page of it before it is written to. */
function fillPool(): void {
  const pages = (STORE.pooledBuffers * STORE.chunkBytes) / WASM_PAGE;
  const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
  for (let slot = STORE.pooledBuffers - 1; slot >= 0; slot--) {
    idle.push(Buffer.from(buffer, slot * STORE.chunkBytes, STORE.chunkBytes));
  }
  pool = buffer;
}
