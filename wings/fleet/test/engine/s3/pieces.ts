// Content for the tests of the S3 client.

/** Bytes of which no two neighbouring pieces are alike. */
export function numbered(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >> 8) * 7 + (at >> 16)) & 255;
  return bytes;
}

/** The same bytes in pieces that share one buffer: it is overwritten when the next piece is asked for. */
export async function* reused(size: number, step: number): AsyncGenerator<Uint8Array> {
  const bytes = numbered(size);
  const buffer = Buffer.alloc(step);
  for (let at = 0; at < size; at += step) {
    const length = bytes.copy(buffer, 0, at, Math.min(size, at + step));
    yield buffer.subarray(0, length);
    buffer.fill(0xee);
  }
}
