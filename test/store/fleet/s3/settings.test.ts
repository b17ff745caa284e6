// Addresses of buckets, and the variables that go with them.
import { expect, it } from 'vitest';
import { readS3Settings } from '../../../../store/fleet/s3/settings.ts';

const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

it.each([
  ['s3://bucket', 'bucket', ''],
  ['s3://bucket/', 'bucket', ''],
  ['s3://my.bucket-1/a/b', 'my.bucket-1', 'a/b/'],
  ['s3://bucket/a/', 'bucket', 'a/'],
])('reads %s', (address, bucket, prefix) => {
  const settings = readS3Settings(address, { ...KEYS, AWS_REGION: 'eu-west-1' });
  expect(settings).toMatchObject({ bucket, prefix, region: 'eu-west-1', accessKey: 'key' });
  expect(settings.endpoint.href).toBe('https://s3.eu-west-1.amazonaws.com/');
});

it.each(['bucket', 's3://', 's3://UPPER', 's3://b/../c', 's3://bucket/a?b', 'http://bucket/a'])(
  'refuses %s',
  (address) => {
    expect(() => readS3Settings(address, KEYS)).toThrow('--blobs takes s3://BUCKET/PREFIX');
  },
);

it('names the variable that is missing, and no value', () => {
  expect(() => readS3Settings('s3://bucket', { AWS_ACCESS_KEY_ID: 'key' })).toThrow(
    'needs the variable AWS_SECRET_ACCESS_KEY',
  );
  expect(() => readS3Settings('s3://bucket', { AWS_SECRET_ACCESS_KEY: 'x' })).toThrow(
    'needs the variable AWS_ACCESS_KEY_ID',
  );
  for (const url of ['127.0.0.1:80', 'http://user:password@host', 'http://host/path', 'ftp://host'])
    expect(() => readS3Settings('s3://bucket', { ...KEYS, AWS_ENDPOINT_URL: url })).toThrow(
      /^ASSAY_USAGE: AWS_ENDPOINT_URL must be http:\/\/HOST:PORT or https:\/\/HOST:PORT$/,
    );
});
