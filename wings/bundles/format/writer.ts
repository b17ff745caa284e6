// Writes a bundle from its first byte to its last, in order, to a file or a pipe.
import { freeBuffers } from '../../../core/bun.ts';
import { BUNDLE } from '../limits.ts';
import {
  END,
  encodeEnd,
  encodeHead,
  encodeIndex,
  FREE_EVERY,
  HEAD,
  type Head,
  INDEX_FILE,
  type SlicePlace,
  type Stream,
  sliceName,
} from './layout.ts';
import { END_OF_TAR, paddingOf, tarHeader } from './tar.ts';
import { compressSlice } from './zstd.ts';

export interface Sink {
  write(bytes: Uint8Array): Promise<void>;
}

interface WrittenBundle {
  readonly head: Head;
  /** Slices of the sizes that the head announces. */
  readonly manifest: Iterable<Buffer>;
  readonly content: AsyncIterable<Buffer>;
}

/** Returns how many bytes the bundle has. */
export async function writeBundle({ head, manifest, content }: WrittenBundle, sink: Sink): Promise<number> {
  let written = 0;
  const write = async (bytes: Uint8Array) => {
    await sink.write(bytes);
    written += bytes.length;
  };
  const add = async (name: string, bytes: Uint8Array): Promise<SlicePlace> => {
    await write(tarHeader(name, bytes.length));
    const place = [written, bytes.length] as const;
    await write(bytes);
    await write(Buffer.alloc(paddingOf(bytes.length)));
    return place;
  };
  const addSlices = async (
    stream: Stream,
    slices: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<SlicePlace[]> => {
    const places: SlicePlace[] = [];
    for await (const frame of compressed(slices)) {
      if (places.length % FREE_EVERY === FREE_EVERY - 1) freeBuffers();
      places.push(await add(sliceName(stream, places.length), frame));
    }
    return places;
  };
  await add(HEAD, encodeHead(head));
  const places = {
    manifest: await addSlices('manifest', manifest),
    content: await addSlices('content', content),
  };
  const index = await add(INDEX_FILE, await compressSlice(encodeIndex(places)));
  await add(END, encodeEnd(index));
  await write(END_OF_TAR);
  return written;
}

/** In order, and several at once. */
async function* compressed(slices: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const begun: Promise<Buffer>[] = [];
  try {
    for await (const slice of slices) {
      begun.push(compressSlice(slice));
      const first = begun.length < BUNDLE.compressedAtOnce ? undefined : begun.shift();
      if (first) yield await first;
    }
    while (begun.length > 0) yield await (begun.shift() ?? Buffer.alloc(0));
  } finally {
    await Promise.allSettled(begun);
  }
}
