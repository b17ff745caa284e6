// A wrong set-up of the bucket is told with its cause, against a real radosgw; what only AWS answers comes from a stand-in.
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { BucketRefusal } from '../../../engine/s3/refusals.ts';
import { openS3Objects, type S3Bucket } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../../engine/s3/settings.ts';
import { S3Proxy } from '../../rig/s3-proxy.ts';
import { type FleetEnvironment, freshFleet } from '../../rig/services.ts';

let environment: FleetEnvironment;
beforeAll(async () => {
  environment = await freshFleet();
});

async function open(changed: Partial<FleetEnvironment> & Record<string, string>, now?: () => number) {
  const variables = { ...environment, ...changed };
  const bucket = await openS3Objects(readS3Settings(variables.ASSAY_BLOBS, variables), now && { now });
  onTestFinished(() => bucket.close());
  return bucket;
}

const check = (bucket: S3Bucket) => bucket.check(AbortSignal.timeout(20_000));

it.each([
  [
    { AWS_SECRET_ACCESS_KEY: 'HIDDEN' },
    'SignatureDoesNotMatch: the secret key does not belong to the access key',
  ],
  [{ AWS_ACCESS_KEY_ID: 'nobody' }, 'InvalidAccessKeyId: the object store does not know the access key'],
  [{ ASSAY_BLOBS: 's3://absent/x' }, 'NoSuchBucket: there is no bucket absent at 127.0.0.1'],
])('%j', async (changed, why) => {
  const error: unknown = await check(await open(changed)).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(why);
  expect(String(error)).not.toContain('HIDDEN');
  expect(error).toBeInstanceOf(BucketRefusal);
});

it.each([
  [301, { 'x-amz-bucket-region': 'eu-west-1' }, 'PermanentRedirect', ''],
  [400, {}, 'AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>'],
])('a bucket in another region: %i', async (status, headers, code, more) => {
  const server = createServer((_, response) => {
    response.writeHead(status, headers).end(`<Error><Code>${code}</Code>${more}</Error>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const bucket = await open({
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  await expect(check(bucket)).rejects.toThrow('is in eu-west-1, and AWS_REGION says us-east-1');
});

it('a clock that is two hours off is told, and the bucket’s own time is used', async () => {
  expect(await check(await open({}))).toBe(0);
  const twoHours = 2 * 60 * 60 * 1000;
  const behindMs = await check(await open({}, () => Date.now() - twoHours));
  expect(Math.abs(behindMs - twoHours)).toBeLessThan(60_000);
});

it('a bucket that is away or fails is no mistake of the set-up', async () => {
  const proxy = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
  onTestFinished(() => proxy.stop());
  proxy.fault = () => 'unavailable';
  for (const url of [proxy.url, 'http://127.0.0.1:9']) {
    const error = check(await open({ AWS_ENDPOINT_URL: url }));
    await expect(error).rejects.toThrow('ASSAY_BUCKET_AWAY');
    await expect(error).rejects.not.toBeInstanceOf(BucketRefusal);
  }
});

it('the bucket is named in the host where that is set', async () => {
  const { lookup } = dns;
  const names: string[] = [];
  // Most machines know no names below "localhost".
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: [never]) => {
    names.push(name);
    lookup(name.endsWith('.localhost') ? '127.0.0.1' : name, ...rest);
  }) as typeof lookup);
  onTestFinished(() => void vi.restoreAllMocks());
  const url = new URL(environment.AWS_ENDPOINT_URL);
  url.hostname = 'localhost';
  const bucket = await open({ AWS_ENDPOINT_URL: url.origin, AWS_S3_ADDRESSING_STYLE: 'virtual' });
  await bucket.put('virtual', Buffer.from('x'), 1);
  expect(names).toEqual(['assay.localhost']);
  expect((await bucket.list(undefined)).objects.map(({ name }) => name)).toContain('virtual');
  expect(String(await (await open({})).probe('virtual', 1))).toBe('x');
});
