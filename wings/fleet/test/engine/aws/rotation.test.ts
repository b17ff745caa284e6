// The rotation of credentials, with a clock and a source of the test's own.
import { beforeEach, expect, test } from 'vitest';
import { credentialsOf, type IssuedCredentials } from '../../../engine/aws/credentials.ts';
import { AWS } from '../../../engine/aws/limits.ts';
import { RotatingCredentials } from '../../../engine/aws/rotation.ts';

const HOUR = 60 * 60 * 1000;
let now = 0;
let reads = 0;
let told: (string | undefined)[] = [];
let answer: () => Promise<IssuedCredentials>;

const issued = async (): Promise<IssuedCredentials> => ({
  credentials: credentialsOf(`key ${reads}`, 'secret', 'token'),
  validMs: HOUR,
});
const fails = async (): Promise<never> => {
  throw new Error('it is away');
};

function rotating(): RotatingCredentials {
  const read = () => {
    reads++;
    return answer();
  };
  const source = { name: 'the source', isRenewable: true, read };
  return new RotatingCredentials(
    source,
    (_, failure) => told.push(failure),
    () => now,
  );
}

/** Lets a renewal in the background end. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  now = 0;
  reads = 0;
  told = [];
  answer = issued;
});

test('all requests wait for one read', async () => {
  const credentials = rotating();
  const all = await Promise.all(Array.from({ length: 100 }, () => credentials.get()));
  expect(new Set(all.map(({ accessKey }) => accessKey))).toEqual(new Set(['key 1']));
  expect(reads).toBe(1);
});

test('no request waits for a renewal before the end, and one runs', async () => {
  const credentials = rotating();
  await credentials.get();
  now = HOUR - AWS.renewBeforeMs - 1;
  await credentials.get();
  expect(reads).toBe(1);
  now++;
  for (let request = 0; request < 100; request++)
    expect(credentials.get()).toMatchObject({ accessKey: 'key 1' });
  await settled();
  expect(credentials.get()).toMatchObject({ accessKey: 'key 2' });
  expect(reads).toBe(2);
});

test('the old ones are used while a renewal fails and they are valid, and the failure is told once', async () => {
  const credentials = rotating();
  await credentials.get();
  answer = fails;
  for (now = HOUR - AWS.renewBeforeMs; now < HOUR; now += 100) {
    expect(credentials.get()).toMatchObject({ accessKey: 'key 1' });
    await settled();
  }
  expect(reads).toBe(1 + AWS.renewBeforeMs / AWS.retryMs);
  const failure = 'no credentials from the source: it is away';
  await expect(Promise.resolve(credentials.get())).rejects.toThrow(failure);
  expect(told).toEqual([failure]);

  now += AWS.urgentRetryMs;
  answer = issued;
  expect(await credentials.get()).toMatchObject({ accessKey: `key ${reads}` });
  expect(told).toEqual([failure, undefined]);
});

test('refused ones are replaced at most once in a while, and by others', async () => {
  const credentials = rotating();
  const first = await credentials.get();
  const all = await Promise.all(Array.from({ length: 100 }, () => credentials.replace(first)));
  expect(all).toContain(true);
  expect(reads).toBe(2);
  const second = await credentials.get();
  expect(await credentials.replace(second)).toBe(false);
  expect(await credentials.replace(first)).toBe(true);
  expect(reads).toBe(2);
  now += AWS.replaceMs;
  answer = async () => ({ credentials: credentialsOf('key 2', 'secret', 'token'), validMs: HOUR });
  expect(await credentials.replace(second)).toBe(false);
  expect(reads).toBe(3);
});

test('credentials that have ended already are none', async () => {
  answer = async () => ({ ...(await issued()), validMs: -1 });
  await expect(Promise.resolve(rotating().get())).rejects.toThrow('it gave credentials that have ended');
});
