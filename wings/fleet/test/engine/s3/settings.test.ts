// Addresses of buckets, and the variables that go with them.
import { expect, it } from 'vitest';
import { readS3Settings } from '../../../engine/s3/settings.ts';

const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

it.each([
  ['s3://bucket', 'bucket', ''],
  ['s3://bucket/', 'bucket', ''],
  ['s3://my.bucket-1/a/b', 'my.bucket-1', 'a/b/'],
  ['s3://bucket/a/', 'bucket', 'a/'],
])('reads %s', (address, bucket, prefix) => {
  const settings = readS3Settings(address, { ...KEYS, AWS_REGION: 'eu-west-1' });
  expect(settings).toMatchObject({ bucket, prefix, region: 'eu-west-1' });
});

it.each([
  ['s3://bucket', {}, 'https://bucket.s3.eu-west-1.amazonaws.com/', '/'],
  ['s3://my.bucket', {}, 'https://s3.eu-west-1.amazonaws.com/', '/my.bucket/'],
  ['s3://bucket', { AWS_S3_ADDRESSING_STYLE: 'path' }, 'https://s3.eu-west-1.amazonaws.com/', '/bucket/'],
  ['s3://bucket', { AWS_REGION: 'cn-north-1' }, 'https://bucket.s3.cn-north-1.amazonaws.com.cn/', '/'],
  ['s3://bucket', { AWS_ENDPOINT_URL: 'https://s3.example:9000' }, 'https://s3.example:9000/', '/bucket/'],
  [
    's3://bucket',
    { AWS_ENDPOINT_URL: 'https://s3.example:9000', AWS_S3_ADDRESSING_STYLE: 'virtual' },
    'https://bucket.s3.example:9000/',
    '/',
  ],
])('%s with %j is at %s%s', (address, variables, endpoint, root) => {
  const settings = readS3Settings(address, { ...KEYS, AWS_REGION: 'eu-west-1', ...variables });
  expect(settings.endpoint.href).toBe(endpoint);
  expect(settings.root).toBe(root);
});

it('refuses a style that nobody knows, and buckets in the host of an IP address', () => {
  const style = (AWS_S3_ADDRESSING_STYLE: string, AWS_ENDPOINT_URL: string) => () =>
    readS3Settings('s3://bucket', { ...KEYS, AWS_S3_ADDRESSING_STYLE, AWS_ENDPOINT_URL });
  expect(style('auto', 'http://s3.example')).toThrow('AWS_S3_ADDRESSING_STYLE is "path" or "virtual"');
  expect(style('virtual', 'http://[::1]:80')).toThrow('needs an AWS_ENDPOINT_URL with a name');
});

it.each(['bucket', 's3://', 's3://UPPER', 's3://b/../c', 's3://bucket/a?b', 'http://bucket/a'])(
  'refuses %s',
  (address) => {
    expect(() => readS3Settings(address, KEYS)).toThrow('--blobs takes s3://BUCKET/PREFIX');
  },
);

it('names the variable that is wrong, and no value', () => {
  for (const url of ['127.0.0.1:80', 'http://user:password@host', 'http://host/path', 'ftp://host'])
    expect(() => readS3Settings('s3://bucket', { ...KEYS, AWS_ENDPOINT_URL: url })).toThrow(
      /^ASSAY_USAGE: AWS_ENDPOINT_URL must be http:\/\/HOST:PORT or https:\/\/HOST:PORT$/,
    );
});
