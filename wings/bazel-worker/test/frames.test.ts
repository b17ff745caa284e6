// Each request is decoded completely, however the pipe splits it.
import { expect, test } from 'vitest';
import { Random } from '../../../test/rig/random.ts';
import { frames } from '../frames.ts';
import { encodeRequest } from './bazel.ts';

async function* inPieces(bytes: Buffer, ends: readonly number[]): AsyncGenerator<Buffer> {
  let begin = 0;
  for (const end of [...ends, bytes.length]) {
    if (end > begin) yield bytes.subarray(begin, end);
    begin = Math.max(begin, end);
  }
}

async function gather(source: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const gathered: Buffer[] = [];
  for await (const piece of source) gathered.push(Buffer.from(piece));
  return gathered;
}

const REQUESTS = [
  encodeRequest([], []),
  encodeRequest(['a'], [{ path: 'b', digest: 'c' }]),
  encodeRequest(['x'.repeat(200)], []),
  encodeRequest(['x'.repeat(20_000)], []),
];

test('requests are decoded if split once, at any offset', async () => {
  const few = REQUESTS.slice(0, 3);
  const bytes = Buffer.concat(few);
  for (let at = 0; at <= bytes.length; at++) {
    expect(await gather(frames(inPieces(bytes, [at])))).toEqual(few);
  }
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'requests are decoded if split at many offsets, seed %i',
  async (seed) => {
    const random = new Random(seed);
    const sent = Array.from({ length: 12 }, () => random.pick(REQUESTS));
    const bytes = Buffer.concat(sent);
    const ends = Array.from({ length: 40 }, () => random.below(bytes.length)).sort((a, b) => a - b);
    expect(await gather(frames(inPieces(bytes, ends)))).toEqual(sent);
  },
);

test('a truncated request is an error, after all complete ones', async () => {
  const bytes = Buffer.concat(REQUESTS);
  const source = frames(inPieces(bytes.subarray(0, -1), []));
  for (const request of REQUESTS.slice(0, -1)) expect((await source.next()).value).toEqual(request);
  await expect(source.next()).rejects.toThrow('ASSAY_BAD_WIRE');
});
