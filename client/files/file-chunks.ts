// Reads a file as chunks for the store.
// All chunks share one buffer: a chunk is valid until the caller asks for the next one.
import { open } from 'node:fs/promises';
import { STORE } from '../../store/limits.ts';

export async function* fileChunks(file: string | Buffer): AsyncGenerator<Buffer> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.allocUnsafe(STORE.chunkBytes);
    while (true) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
