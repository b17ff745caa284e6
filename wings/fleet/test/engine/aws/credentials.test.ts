// Credentials as production has them, against a real radosgw that issued the session token and checks it: each source,
// a rotation without a restart, and what happens while a source is away.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AwsEnvironment } from '../../../engine/aws/chain.ts';
import { CredentialsRefused } from '../../../engine/aws/credentials.ts';
import { openS3Objects, type S3Bucket } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../../engine/s3/settings.ts';
import { Platform, type PlatformKeys } from '../../rig/platform.ts';
import { S3Proxy } from '../../rig/s3-proxy.ts';
import { type FleetEnvironment, freshFleet } from '../../rig/services.ts';
import { sessionKeys } from '../../rig/session-keys.ts';

let environment: FleetEnvironment;
let keys: PlatformKeys;
let platform: Platform;
let folder: string;
let proxy: S3Proxy;
const opened: S3Bucket[] = [];
const WRONG: PlatformKeys = { accessKey: 'nobody', secretKey: 'WRONG-SECRET', sessionToken: 'WRONG-TOKEN' };

beforeAll(async () => {
  environment = await freshFleet();
  keys = await sessionKeys(environment);
  platform = await Platform.start(keys);
  proxy = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
  Object.assign(platform, { keys, mode: 'well', validMs: 60 * 60 * 1000, aheadMs: 0 });
  platform.asked.length = 0;
  proxy.fault = () => undefined;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((bucket) => bucket.close()));
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => Promise.all([platform.stop(), proxy.stop()]));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const renewals: [string, string | undefined][] = [];

async function open(variables: AwsEnvironment): Promise<S3Bucket> {
  renewals.length = 0;
  const { AWS_REGION, ASSAY_BLOBS } = environment;
  const AWS_ENDPOINT_URL = proxy.url;
  const bucket = await openS3Objects(
    readS3Settings(ASSAY_BLOBS, { AWS_ENDPOINT_URL, AWS_REGION, ...variables }),
    { onRenewal: (...told) => renewals.push(told) },
  );
  opened.push(bucket);
  return bucket;
}

async function works(bucket: S3Bucket): Promise<void> {
  const bytes = Buffer.from(crypto.randomUUID());
  await bucket.put('probe', bytes, bytes.length);
  expect(await bucket.probe('probe', bytes.length)).toEqual(bytes);
  expect((await bucket.list(undefined)).objects.map(({ name }) => name)).toContain('probe');
}

const IN_KEYS = () => ({
  AWS_ACCESS_KEY_ID: keys.accessKey,
  AWS_SECRET_ACCESS_KEY: keys.secretKey,
  AWS_SESSION_TOKEN: keys.sessionToken,
});
const WEB = () => ({
  AWS_WEB_IDENTITY_TOKEN_FILE: file('token', 'token-of-the-pod\n'),
  AWS_ROLE_ARN: 'arn:aws:iam::1:role/cache',
  AWS_ENDPOINT_URL_STS: platform.url,
});
const INSTANCE = () => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: platform.url });
const CONTAINER = () => ({
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `${platform.url}/v1/credentials`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file('agent', 'token-of-the-agent\n'),
});
const profile = ({ accessKey, secretKey, sessionToken }: PlatformKeys) =>
  `[default]\naws_access_key_id = nobody\n[cache]\naws_access_key_id = ${accessKey}\n` +
  `aws_secret_access_key=${secretKey}\naws_session_token = ${sessionToken}\n`;
const FILE = () => ({ AWS_SHARED_CREDENTIALS_FILE: file('keys', profile(keys)), AWS_PROFILE: 'cache' });

describe('a bucket is used with', () => {
  it('keys and a session token in the environment', async () => {
    await works(await open(IN_KEYS()));
    const without = await open({ ...IN_KEYS(), AWS_SESSION_TOKEN: '' });
    await expect(without.check(AbortSignal.timeout(10_000))).rejects.toThrow(
      '403 InvalidAccessKeyId: the object store does not know the access key (credentials: AWS_ACCESS_KEY_ID)',
    );
  });

  it('a web identity: the token in the file becomes credentials of a role', async () => {
    await works(await open(WEB()));
    expect(platform.asked).toEqual(['POST / token-of-the-pod']);
  });

  it('the metadata of the instance, version 2', async () => {
    await works(await open(INSTANCE()));
    const at = '/latest/meta-data/iam/security-credentials/';
    const session = 'session-of-the-instance';
    expect(platform.asked).toEqual([
      'PUT /latest/api/token',
      `GET ${at} ${session}`,
      `GET ${at}cache-role ${session}`,
    ]);
  });

  it('the agent of a container', async () => {
    await works(await open(CONTAINER()));
    expect(platform.asked).toEqual(['GET /v1/credentials token-of-the-agent']);
  });

  it('a file of credentials', async () => {
    await works(await open(FILE()));
  });
});

describe('credentials are renewed without a restart', () => {
  it('before they end, once for all requests, with the token that the file has then', async () => {
    platform.validMs = 2000;
    const variables = WEB();
    const bucket = await open(variables);
    await works(bucket);
    writeFileSync(variables.AWS_WEB_IDENTITY_TOKEN_FILE, 'next-token');
    await expect
      .poll(async () => {
        await Promise.all(Array.from({ length: 20 }, () => bucket.probe('probe', 1)));
        return platform.asked;
      })
      .toContain('POST / next-token');
    expect(platform.asked.length).toBeLessThan(8);
  });

  it.each([
    ['an agent', CONTAINER, (next: PlatformKeys) => Object.assign(platform, { keys: next })],
    ['a file', FILE, (next: PlatformKeys) => renameSync(file('new', profile(next)), join(folder, 'keys'))],
  ])('when the bucket says that they have ended: %s', async (_, variables, rotate) => {
    const bucket = await open(variables());
    await works(bucket);
    rotate(await sessionKeys(environment));
    let left = 1;
    proxy.fault = () => (left-- > 0 ? 'expired' : undefined);
    proxy.calls.length = 0;
    await works(bucket);
    expect(proxy.calls).toHaveLength(4);
  });

  it('but not for each request that the bucket refuses', async () => {
    platform.keys = { ...keys, accessKey: 'nobody' };
    const bucket = await open(CONTAINER());
    for (let request = 0; request < 3; request++)
      await expect(bucket.probe('probe', 1)).rejects.toThrow('it answered 403 InvalidAccessKeyId');
    expect(platform.asked).toHaveLength(2);
  });

  it('whatever the clock of this machine says', async () => {
    platform.aheadMs = -24 * 60 * 60 * 1000;
    await works(await open(INSTANCE()));
    await works(await open(WEB()));
  });
});

describe('a source that gives nothing', () => {
  it.each([
    ['a web identity', WEB],
    ['metadata of an instance', INSTANCE],
    ['an agent', CONTAINER],
  ])(
    '%s: is told apart from one that refuses, and no secret is in the message',
    async (_, variables) => {
      platform.keys = WRONG;
      for (const mode of ['fails', 'hangs', 'garbage', 'refuses'] as const) {
        platform.mode = mode;
        const bucket = await open(variables());
        const error: unknown = await bucket
          .check(AbortSignal.timeout(20_000))
          .catch((thrown: unknown) => thrown);
        expect(error instanceof CredentialsRefused, mode).toBe(mode === 'refuses');
        expect(inspect(error, { depth: 9 })).not.toMatch(/WRONG|token-of/);
        expect(JSON.stringify(renewals)).not.toMatch(/WRONG|token-of/);
      }
    },
    60_000,
  );

  it('a file that is missing, or has no such profile, is named', async () => {
    for (const variables of [
      { ...WEB(), AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere/token' },
      { AWS_SHARED_CREDENTIALS_FILE: '/nowhere/keys' },
      { ...FILE(), AWS_PROFILE: 'other' },
    ])
      await expect((await open(variables)).check(AbortSignal.timeout(10_000))).rejects.toThrow(
        /\/nowhere\/\w+ can’t be read: ENOENT|under \[other\]/,
      );
  });
});

it.each([
  [{ AWS_ACCESS_KEY_ID: 'key' }, 'needs the variable AWS_SECRET_ACCESS_KEY'],
  [{ AWS_SECRET_ACCESS_KEY: 'HIDDEN' }, 'needs the variable AWS_ACCESS_KEY_ID'],
  [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/t' }, 'needs the variable AWS_ROLE_ARN'],
  [{ AWS_EC2_METADATA_DISABLED: 'true' }, '--blobs needs credentials: AWS_ACCESS_KEY_ID and'],
  [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://attacker.example/HIDDEN' }, 'must have https, or be'],
  [{ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://u:HIDDEN@h' }, 'AWS_EC2_METADATA_SERVICE_ENDPOINT must be'],
])('%j is refused', (variables, why) => {
  const read = () => readS3Settings('s3://bucket', variables);
  expect(read).toThrow(why);
  expect(read).not.toThrow('HIDDEN');
});
