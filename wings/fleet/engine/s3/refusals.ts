// Why a bucket refuses a request, in words for whoever set it up. Asking again changes nothing.
// The words name S3's code, the bucket and the region, and nothing that is secret.
import { AssayError } from '../../../../core/errors.ts';
import { elementText } from '../aws/xml.ts';
import type { S3Settings } from './settings.ts';

/** The bucket is there, and will refuse the same request again. */
export class BucketRefusal extends AssayError {
  constructor(detail: string) {
    super('ASSAY_BUCKET_AWAY', detail);
  }
}

interface RefusalAnswer {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly xml: string;
}

/** Undefined for a refusal that says nothing about the set-up, such as NoSuchKey. */
export function causeOf(
  { status, code, headers, xml }: RefusalAnswer,
  settings: S3Settings,
): string | undefined {
  const { bucket, region, endpoint, credentials } = settings;
  if (status === 301 || status === 307 || WRONG_REGION.has(code)) {
    const other = headers['x-amz-bucket-region'] ?? elementText(xml, 'Region');
    const where = other === undefined || other === region ? 'in another region' : `in ${other}`;
    return `the bucket ${bucket} is ${where}, and AWS_REGION says ${region}`;
  }
  if (code === 'NoSuchBucket') return `there is no bucket ${bucket} at ${endpoint.host}`;
  const words = OF_CREDENTIALS.get(code) ?? (status === 403 ? 'the key may not do this' : undefined);
  return words && `${words} (credentials: ${credentials.name})`;
}

/** Other credentials may help. Ceph says AccessDenied of a session token that has ended. */
export function isOfCredentials(code: string): boolean {
  return OF_CREDENTIALS.has(code);
}

const OF_CREDENTIALS: ReadonlyMap<string, string> = new Map([
  ['SignatureDoesNotMatch', 'the secret key does not belong to the access key'],
  ['InvalidAccessKeyId', 'the object store does not know the access key'],
  ['AccessDenied', 'the key may not do this'],
  ['ExpiredToken', 'the session token has ended'],
  ['ExpiredTokenException', 'the session token has ended'],
  ['TokenRefreshRequired', 'the session token has ended'],
  ['InvalidToken', 'the session token does not belong to the keys, or the store knows no session tokens'],
  ['RequestTimeTooSkewed', 'the clock of this machine is wrong'],
]);

const WRONG_REGION = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
