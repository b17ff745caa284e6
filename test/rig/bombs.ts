// A little that stands for very much.

const BLOCK = 128 * 1024;

/** zstd by hand: a frame of blocks that each say "this byte 131,072 times", in four bytes. */
export function bombOf(size: number): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68]);
  const blocks = Buffer.alloc(4 * Math.ceil(size / BLOCK));
  for (let at = 0; at < blocks.length; at += 4) {
    const isLast = at + 4 === blocks.length ? 1 : 0;
    blocks.writeUIntLE((BLOCK << 3) | (1 << 1) | isLast, at, 3);
  }
  return Buffer.concat([head, blocks]);
}

/** The name under which a blob of that hash and size is uploaded as zstd. */
export function compressedName(hash: string, size: number): string {
  return `uploads/5d3f2e10-0000-4000-8000-000000000000/compressed-blobs/zstd/${hash}/${size}`;
}

/** So many encodings upon each other, in one header. */
export function stackedEncodings(count: number): string {
  return new Array(count).fill('gzip').join(',');
}
