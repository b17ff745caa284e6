// A file as chunks for the store. A chunk is good until the next one is asked for.
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
