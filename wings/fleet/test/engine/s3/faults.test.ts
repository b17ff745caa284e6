// The S3 client behind a proxy that injects faults, in front of a real radosgw: what is repeated, what is not, and
// that every wait ends.
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import type { Objects } from '../../../engine/objects.ts';
import { S3 } from '../../../engine/s3/limits.ts';
import { openS3Objects } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings, type S3Settings } from '../../../engine/s3/settings.ts';
import { type S3Call, type S3Fault, S3Proxy } from '../../rig/s3-proxy.ts';
import { freshFleet } from '../../rig/services.ts';
import { numbered, reused } from './pieces.ts';

const MIB = 1024 * 1024;
let proxy: S3Proxy;
let behind: S3Settings;
let direct: Objects;
let objects: Objects;
/** For what hangs, and only for that: a busy machine can be silent for a second. */
let impatient: Objects;

/** For what does not answer at all. */
let hasty: Objects;

beforeAll(async () => {
  const environment = await freshFleet();
  proxy = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
  direct = await openS3Objects(readS3Settings(environment.ASSAY_BLOBS, { ...environment }));
  behind = readS3Settings(environment.ASSAY_BLOBS, { ...environment, AWS_ENDPOINT_URL: proxy.url });
  objects = await openS3Objects(behind);
  impatient = await openS3Objects(behind, {
    idleMs: 1000,
    answerMs: 1000,
    storedMs: 1000,
  });
  hasty = await openS3Objects(behind, {
    idleMs: 1000,
    answerMs: 200,
    storedMs: 300,
  });
  await direct.put('there', numbered(100_000), 100_000);
});
beforeEach(() => {
  proxy.fault = () => undefined;
  proxy.calls.length = 0;
});
afterAll(async () => {
  await Promise.all([objects.close(), impatient.close(), hasty.close(), direct.close()]);
  await proxy.stop();
});

/** Injects the fault into the first requests that match. */
function inject(fault: S3Fault, times: number, matches: (call: S3Call) => boolean = () => true): void {
  let left = times;
  proxy.fault = (call) => (matches(call) && left-- > 0 ? fault : undefined);
}

async function read(from: Objects, name: string, size: number): Promise<Buffer | undefined> {
  const content = await from.get(name, 0, size);
  return content && Buffer.concat(await Array.fromAsync(content));
}

it.each<S3Fault>(['unavailable', 'cut', 'lost answer'])(
  'repeats a read, a write of bytes in memory and a deletion after «%s»',
  async (fault) => {
    inject(fault, 2);
    expect((await read(objects, 'there', 100_000))?.equals(numbered(100_000))).toBe(true);
    inject(fault, 2);
    await objects.put('written', numbered(5000), 5000);
    expect((await read(direct, 'written', 5000))?.equals(numbered(5000))).toBe(true);
    inject(fault, 2);
    await objects.delete(['written']);
    expect(await read(direct, 'written', 1)).toBeUndefined();
    expect(proxy.calls).toHaveLength(9);
  },
);

it.each<S3Fault>(['unavailable', 'cut', 'lost answer'])('gives up after three times «%s»', async (fault) => {
  inject(fault, 3);
  await expect(read(objects, 'there', 1)).rejects.toThrow('ASSAY_BUCKET_AWAY: GET there: ');
  expect(proxy.calls).toHaveLength(3);
});

it.each<S3Fault>(['unavailable', 'cut', 'lost answer', 'hang'])(
  'sends content that was begun only once: «%s»',
  async (fault) => {
    inject(fault, 1);
    let taken = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const piece of reused(20 * MIB, 1 * MIB)) {
        taken += piece.length;
        yield piece;
      }
    }
    const client = fault === 'hang' ? impatient : objects;
    await expect(client.put('streamed', counted(), 20 * MIB)).rejects.toThrow(
      'ASSAY_BUCKET_AWAY: PUT streamed: ',
    );
    expect(proxy.calls).toHaveLength(1);
    expect(taken).toBeGreaterThan(0);
  },
);

it('does not repeat a request after a silence', async () => {
  for (const fault of ['hang', 'hang in answer'] as const) {
    inject(fault, 1);
    await expect(read(impatient, 'there', 100_000)).rejects.toThrow(
      fault === 'hang' ? 'no answer within 1 s' : 'nothing moved for 1 s',
    );
  }
  expect(proxy.calls).toHaveLength(2);
});

it('waits seconds for the first byte of an answer, and not as long as for a transfer', async () => {
  const began = performance.now();
  inject('hang', 4);
  await expect(read(objects, 'there', 1)).rejects.toThrow('no answer within 5 s');
  await expect(read(hasty, 'there', 1)).rejects.toThrow('no answer within 0.2 s');
  await expect(hasty.put('small', numbered(100), 100)).rejects.toThrow('no answer within 0.3 s');
  await expect(hasty.put('streamed', reused(100_000, 1000), 100_000)).rejects.toThrow(
    'no answer within 0.3 s',
  );
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(proxy.calls).toHaveLength(4);
}, 30_000);

it('reads a probe while every connection is taken, and does not count a wait for a connection', async () => {
  await direct.put('canary', Buffer.from('canary'), 6);
  proxy.fault = ({ path }) => (path.includes('there') ? 'hang in answer' : undefined);
  const taken = await Promise.all(
    Array.from({ length: S3.connections }, async () => {
      const pieces = (await objects.get('there', 0, 100_000))?.[Symbol.asyncIterator]();
      await pieces?.next();
      return pieces;
    }),
  );
  const waiting = read(objects, 'canary', 6);
  await new Promise((resolve) => setTimeout(resolve, S3.answerMs + 500));
  expect(String(await objects.probe('canary', 6))).toBe('canary');
  await Promise.all(taken.map((pieces) => pieces?.return?.()));
  expect(String(await waiting)).toBe('canary');
}, 30_000);

it('does not count the time in which the content, or the reader, is slow', async () => {
  const slowly = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1300));
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('slow');
    await slowly();
    yield Buffer.from('ly');
  }
  await impatient.put('slow', slow(), 6);
  const content = await impatient.get('slow', 0, 6);
  await slowly();
  const pieces: Buffer[] = [];
  for await (const piece of content ?? []) {
    pieces.push(piece);
    await slowly();
  }
  expect(String(Buffer.concat(pieces))).toBe('slowly');
});

it.each<S3Fault>(['truncated', 'shortened'])(
  'throws in the middle of an answer that is «%s»',
  async (fault) => {
    inject(fault, 1);
    const content = await objects.get('there', 0, 100_000);
    let received = 0;
    const reading = async (): Promise<void> => {
      for await (const piece of content ?? []) received += piece.length;
    };
    await expect(reading()).rejects.toThrow('ASSAY_BUCKET_AWAY: GET there: ');
    expect(received).toBeLessThanOrEqual(50_000);
  },
);

it('keeps nothing of an upload whose bytes were changed on the way', async () => {
  const bytes = numbered(100_000);
  const { hash } = digestOf(bytes);
  inject('flipped', 1);
  await expect(objects.put('changed', reused(100_000, 10_000), 100_000, hash)).rejects.toThrow(
    'ASSAY_BUCKET_AWAY: PUT',
  );
  expect(await direct.get('changed', 0, 1)).toBeUndefined();
  await objects.put('whole', reused(100_000, 10_000), 100_000, hash);
  expect((await read(direct, 'whole', 100_000))?.equals(bytes)).toBe(true);
});

it.each([
  ['bytes in memory', 5000, () => numbered(5000), 5000],
  ['content of unknown size', 5000, () => reused(5000, 1000), undefined],
  ['a part of it', 9 * MIB, () => reused(9 * MIB, 1 * MIB), undefined],
] as const)('sends %s again if they were changed on the way', async (_, length, content, size) => {
  const isPut = ({ method }: S3Call) => method === 'PUT';
  const name = `again-${length}-${size}`;
  inject('flipped', 1, isPut);
  await objects.put(name, content(), size);
  expect((await read(direct, name, length))?.equals(numbered(length))).toBe(true);
});

it('keeps nothing of an upload if the bytes of a part that is streamed were changed on the way', async () => {
  const partial = await openS3Objects(behind, { singlePutBytes: 1 * MIB });
  onTestFinished(() => partial.close());
  inject('flipped', 1, ({ path }) => path.includes('partNumber=1'));
  await expect(partial.put('parts', reused(6 * MIB, 1 * MIB), 6 * MIB)).rejects.toThrow('other bytes');
  expect(await direct.get('parts', 0, 1)).toBeUndefined();
  await partial.put('parts', reused(6 * MIB, 1 * MIB), 6 * MIB);
  expect((await read(direct, 'parts', 6 * MIB))?.equals(numbered(6 * MIB))).toBe(true);
});

it('passes on that an object is missing as long as the server says so', async () => {
  inject('missing', 1);
  expect(await objects.get('there', 0, 1)).toBeUndefined();
  expect(await read(objects, 'there', 100_000)).toHaveLength(100_000);
});

it('deletes what a repeated deletion has deleted already', async () => {
  await direct.put('twice', Buffer.from('x'), 1);
  inject('repeated', 1);
  await objects.delete(['twice']);
  expect(await read(direct, 'twice', 1)).toBeUndefined();
});

it('completes an upload of several parts once, whichever answer is lost', async () => {
  const size = 9 * MIB;
  const steps: ((call: S3Call) => boolean)[] = [
    ({ path }) => path.endsWith('?uploads='),
    ({ path }) => path.includes('partNumber=2'),
    ({ method, path }) => method === 'POST' && path.includes('uploadId='),
  ];
  for (const [step, matches] of steps.entries()) {
    inject('lost answer', 1, matches);
    await objects.put(`parts-${step}`, reused(size, 1 * MIB), undefined);
    expect((await read(direct, `parts-${step}`, size))?.equals(numbered(size)), `step ${step}`).toBe(true);
  }
  // The first request of the first upload was executed twice: its first upload is left for the janitor.
  expect(await direct.abortUploads(3_600_000, () => true)).toBe(0);
  expect(await direct.abortUploads(-60_000, () => true)).toBe(1);
});
