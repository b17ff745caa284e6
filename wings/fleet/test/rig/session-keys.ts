// Temporary credentials of the real radosgw: it issued them, and it checks the session token of each request.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { elementText } from '../../engine/aws/xml.ts';
import type { PlatformKeys } from './platform.ts';
import type { FleetEnvironment } from './services.ts';

const run = promisify(execFile);
const POLICY =
  '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:GetSessionToken","Resource":"*"}]}';

export async function sessionKeys(environment: FleetEnvironment): Promise<PlatformKeys> {
  const conf = join(process.env.ASSAY_TEST_FLEET ?? '', 'ceph/ceph.conf');
  await run('radosgw-admin', ['-c', conf, 'caps', 'add', '--uid=assay', '--caps=user-policy=*']);
  const policy = { UserName: 'assay', PolicyName: 'sessions', PolicyDocument: POLICY };
  await post(environment, 's3', { Action: 'PutUserPolicy', Version: '2010-05-08', ...policy });
  const xml = await post(environment, 'sts', { Action: 'GetSessionToken', Version: '2011-06-15' });
  const field = (name: string) => {
    const text = elementText(xml, name);
    if (text === undefined) throw new Error(`radosgw gave no ${name}: ${xml}`);
    return text;
  };
  return {
    accessKey: field('AccessKeyId'),
    secretKey: field('SecretAccessKey'),
    sessionToken: field('SessionToken'),
  };
}

/** Signed by curl. */
async function post(
  { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL }: FleetEnvironment,
  service: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await run('curl', [
    ...['--silent', '--show-error', '--aws-sigv4', `aws:amz:us-east-1:${service}`],
    ...['--user', `${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}`],
    ...Object.entries(fields).flatMap(([name, value]) => ['--data-urlencode', `${name}=${value}`]),
    `${AWS_ENDPOINT_URL}/`,
  ]);
  return stdout;
}
