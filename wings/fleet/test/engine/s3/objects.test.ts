// The S3 client against a real radosgw: content of every shape, and what each refusal means.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { concurrently } from '../../../../../core/concurrently.ts';
import type { Objects } from '../../../engine/objects.ts';
import { openS3Objects } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../../engine/s3/settings.ts';
import { S3Proxy } from '../../rig/s3-proxy.ts';
import { type FleetEnvironment, freshFleet } from '../../rig/services.ts';
import { numbered, reused } from './pieces.ts';

const MIB = 1024 * 1024;
let environment: FleetEnvironment;
let objects: Objects;

beforeAll(async () => {
  environment = await freshFleet();
  objects = await openS3Objects(readS3Settings(environment.ASSAY_BLOBS, { ...environment }));
});
afterAll(() => objects.close());

async function read(name: string, offset: number, length: number): Promise<Buffer | undefined> {
  const content = await objects.get(name, offset, length);
  return content && Buffer.concat(await Array.fromAsync(content));
}

async function names(): Promise<string[]> {
  return (await objects.list(undefined)).objects.map(({ name }) => name);
}

it('keeps bytes in memory, and reads ranges of them', async () => {
  const name = 'name with signs +&=%/ü';
  await objects.put(name, Buffer.from('hello'), 5);
  expect(String(await read(name, 0, 5))).toBe('hello');
  expect(String(await read(name, 1, 3))).toBe('ell');
  expect(String(await read(name, 1, 100))).toBe('ello');
  expect(String(await read(name, 5, 100))).toBe('');
  expect(String(await read(name, 2, 0))).toBe('');
  await objects.put('empty', Buffer.alloc(0), 0);
  expect(String(await read('empty', 0, 10))).toBe('');
});

it.each([
  ['small', 999],
  ['of the size of a socket’s buffer', 64 * 1024],
  ['large', 1 * MIB],
])('keeps a stream whose pieces are %s and use one buffer', async (_, step) => {
  const size = 3 * MIB + 17;
  const name = `stream-${step}`;
  await objects.put(name, reused(size, step), size);
  expect((await read(name, 0, size))?.equals(numbered(size))).toBe(true);
});

it('keeps content of unknown size, in one part and in several', async () => {
  for (const size of [0, 100_000, 8 * MIB, 17 * MIB + 5]) {
    await objects.put(`unknown-${size}`, reused(size, 700_000), undefined);
    expect((await read(`unknown-${size}`, 0, size + 1))?.equals(numbered(size)), String(size)).toBe(true);
  }
});

it('keeps nothing of content that fails or has another size, and throws that failure', async () => {
  const before = await names();
  const failure = new Error('the content fails');
  async function* failing(size: number): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(size);
    throw failure;
  }
  await expect(objects.put('fails', failing(1 * MIB), 2 * MIB)).rejects.toBe(failure);
  await expect(objects.put('fails at its end', failing(1 * MIB), 1 * MIB)).rejects.toBe(failure);
  await expect(objects.put('fails in parts', failing(9 * MIB), undefined)).rejects.toBe(failure);
  await expect(objects.put('short', reused(100, 10), 101)).rejects.toThrow('fewer bytes');
  await expect(objects.put('long', reused(100, 10), 99)).rejects.toThrow('more bytes');
  await expect(objects.put('long', reused(1, 1), 0)).rejects.toThrow('more bytes');
  expect(await names()).toEqual(before);
  expect(await objects.abortUploads(-60_000, () => true)).toBe(0);
});

it('ends a request when its caller aborts', async () => {
  await objects.put('large', randomBytes(4 * MIB), 4 * MIB);
  const controller = new AbortController();
  const content = await objects.get('large', 0, 4 * MIB, controller.signal);
  const reading = async (): Promise<void> => {
    for await (const _ of content ?? []) controller.abort(new Error('enough'));
  };
  await expect(reading()).rejects.toThrow('enough');
});

it('lists objects by name with their size and age, in pages', async () => {
  const own = await openS3Objects(readS3Settings(`${environment.ASSAY_BLOBS}/list`, { ...environment }));
  for (const name of ['a', 'b', 'c']) await own.put(name, Buffer.from(name), 1);
  const page = await own.list(undefined);
  expect(page.objects.map(({ name, size }) => [name, size])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  for (const { ageMs } of page.objects) expect(Math.abs(ageMs)).toBeLessThan(60_000);
  expect(page.after).toBeUndefined();
  expect((await own.list('a')).objects.map(({ name }) => name)).toEqual(['b', 'c']);
  await own.delete(['a', 'b', 'never there']);
  await own.delete(['a']);
  expect((await own.list(undefined)).objects.map(({ name }) => name)).toEqual(['c']);
  await own.close();
});

it('deletes many objects by few requests, and repeats one whose answer was lost', async () => {
  const proxy = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
  onTestFinished(() => proxy.stop());
  const behind = { ...environment, AWS_ENDPOINT_URL: proxy.url };
  const own = await openS3Objects(readS3Settings(`${environment.ASSAY_BLOBS}/many`, behind));
  onTestFinished(() => own.close());
  const many = Array.from({ length: 260 }, (_, at) => `name "${at}" & <more>`);
  await concurrently(many, 16, (name) => own.put(name, Buffer.from(name), name.length));
  let lost = 0;
  proxy.fault = ({ method }) => (method === 'POST' && lost++ === 0 ? 'lost answer' : undefined);
  proxy.calls.length = 0;
  expect(await own.delete([...many.slice(1), 'never there'])).toEqual([]);
  expect(proxy.calls.map(({ method, path }) => `${method} ${path}`)).toEqual(
    Array(3).fill('POST /assay?delete='),
  );
  proxy.fault = () => undefined;
  expect((await own.list(undefined)).objects.map(({ name }) => name)).toEqual(many.slice(0, 1));
});

it('does not take an answer without a result for a deletion', async () => {
  const proxy = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
  onTestFinished(() => proxy.stop());
  const own = await openS3Objects(
    readS3Settings(environment.ASSAY_BLOBS, { ...environment, AWS_ENDPOINT_URL: proxy.url }),
  );
  onTestFinished(() => own.close());
  proxy.fault = () => 'shortened';
  await expect(own.delete(['any'])).rejects.toThrow(/ASSAY_BUCKET_AWAY/);
});

it.each([
  [501, 'NotImplemented'],
  [405, 'MethodNotAllowed'],
  [400, 'InvalidArgument'],
])('deletes one by one where DeleteObjects is answered by %i %s', async (status, code) => {
  const calls: string[] = [];
  const server = await answering((method) => {
    calls.push(method);
    return method === 'POST' ? { status, body: `<Error><Code>${code}</Code></Error>` } : { status: 204 };
  });
  expect(await server.delete(['a', 'b'])).toEqual([]);
  expect(await server.delete(['c'])).toEqual([]);
  expect(calls.toSorted()).toEqual(['DELETE', 'DELETE', 'DELETE', 'POST']);
});

it('returns the names that the server refuses to delete, also if it refuses all', async () => {
  const errors = `<Error><Key>p/a &amp; b</Key><Code>AccessDenied</Code></Error><Error><Key>p/c</Key><Code>NoSuchKey</Code></Error>`;
  const some = await answering(() => ({ status: 200, body: `<DeleteResult>${errors}</DeleteResult>` }));
  expect(await some.delete(['a & b', 'c', 'd'])).toEqual(['a & b']);
  const none = await answering(() => ({ status: 403, body: '<Error><Code>AccessDenied</Code></Error>' }));
  expect(await none.delete(['a'])).toEqual(['a']);
});

/** A client of an S3 server that answers as the test says. */
async function answering(
  answer: (method: string) => { readonly status: number; readonly body?: string },
): Promise<Objects> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      const { status, body } = answer(incoming.method ?? '');
      outgoing.writeHead(status).end(body);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const settings = { ...environment, AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` };
  const own = await openS3Objects(readS3Settings('s3://bucket/p', settings));
  onTestFinished(() => own.close());
  return own;
}

it('tells a missing object from a missing bucket and a wrong key, and never tells the key', async () => {
  expect(await objects.get('never there', 0, 10)).toBeUndefined();
  const elsewhere = await openS3Objects(readS3Settings('s3://no-such-bucket', { ...environment }));
  await expect(elsewhere.get('x', 0, 1)).rejects.toThrow(
    'ASSAY_BUCKET_AWAY: GET x: it answered 404 NoSuchBucket',
  );
  const secret = 'a-wrong-secret';
  const settings = readS3Settings(environment.ASSAY_BLOBS, { ...environment, AWS_SECRET_ACCESS_KEY: secret });
  const stranger = await openS3Objects(settings);
  const error = await stranger.put('x', reused(9 * MIB, 1 * MIB), 9 * MIB).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining('PUT x: it answered 403 SignatureDoesNotMatch'),
  });
  const { inspect } = await import('node:util');
  for (const thing of [error, settings, stranger]) expect(inspect(thing, { depth: 9 })).not.toContain(secret);
  await Promise.all([elsewhere.close(), stranger.close()]);
});

it('signs by the server’s clock when its own is wrong', async () => {
  const late = { now: () => Date.now() - 3_600_000 };
  const own = await openS3Objects(readS3Settings(environment.ASSAY_BLOBS, { ...environment }), late);
  await own.put('late', Buffer.from('late'), 4);
  expect(String(await read('late', 0, 4))).toBe('late');
  await own.close();
});
