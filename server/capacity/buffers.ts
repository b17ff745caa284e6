// Two helpers for the memory of bytes that arrive from clients: appendBuffer and freeBuffer.

/**
 * Appends a piece in memory that belongs to this buffer alone. A small Buffer is otherwise a slice of a 64
 * KiB pool, and one slice keeps the whole pool alive: a client that sends one byte now and then would hold 64
 * KiB with each.
 */
export function appendBuffer(before: Buffer, piece: Buffer): Buffer {
  const both = Buffer.allocUnsafeSlow(before.length + piece.length);
  before.copy(both);
  piece.copy(both, before.length);
  return both;
}

/**
 * Frees the memory of a piece at once. A piece that shares its memory with others is left alone.
 *
 * V8 counts a piece of 64 KiB as almost nothing on its heap. Left to the garbage collector, uploads make it
 * mark the whole heap 15 times for each GB (docs/decisions/0021), and inflated data leaves 75 MiB.
 */
export function freeBuffer({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
