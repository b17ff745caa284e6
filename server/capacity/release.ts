// Gives a piece's memory back at once, when the store has asked for the next one.
//
// Left to the garbage collector, a piece of 64 KiB counts as almost nothing on its heap and as much outside: it then marks the
// whole heap 15 times for each GB (docs/decisions/0021), or, of what is inflated, lets 75 MiB lie.

/** A piece that shares its memory is not touched. */
export function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
