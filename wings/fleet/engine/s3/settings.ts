// Which bucket, where, and with which credentials: from `s3://BUCKET/PREFIX` and the AWS_… variables.
import { isIP } from 'node:net';
import { AssayError } from '../../../../core/errors.ts';
import { type AwsEnvironment, credentialSource, domainOf } from '../aws/chain.ts';
import type { CredentialSource } from '../aws/credentials.ts';

export interface S3Settings {
  /** Without a path. With virtual hosts its name begins with the bucket. */
  readonly endpoint: URL;
  /** What stands before the name of an object in the path: "/", or "/BUCKET/". */
  readonly root: string;
  readonly bucket: string;
  /** Empty, or with a "/" at its end. */
  readonly prefix: string;
  readonly region: string;
  readonly credentials: CredentialSource;
}

const ADDRESS = /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>[A-Za-z0-9._/-]*))?$/;

export function readS3Settings(address: string, environment: AwsEnvironment): S3Settings {
  const { bucket, prefix = '' } = ADDRESS.exec(address)?.groups ?? {};
  if (bucket === undefined || prefix.split('/').some((part) => part === '.' || part === '..'))
    throw usage('--blobs takes s3://BUCKET/PREFIX, with letters, digits and "._-" in the prefix');
  const region = environment.AWS_REGION || environment.AWS_DEFAULT_REGION || 'us-east-1';
  const trimmed = prefix.replace(/^\/+|\/+$/g, '');
  return {
    ...placeOf(bucket, region, environment),
    bucket,
    prefix: trimmed === '' ? '' : `${trimmed}/`,
    region,
    credentials: credentialSource(environment, region),
  };
}

/**
 * AWS wants the bucket in the host. Any other server may lack names for that, so there the path is the default. A
 * certificate for "*.HOST" holds for no bucket with a dot.
 */
function placeOf(
  bucket: string,
  region: string,
  environment: AwsEnvironment,
): Pick<S3Settings, 'endpoint' | 'root'> {
  const given = environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL;
  const endpoint = readEndpoint(given || `https://s3.${region}.${domainOf(region)}`);
  const style = environment.AWS_S3_ADDRESSING_STYLE || (given || bucket.includes('.') ? 'path' : 'virtual');
  if (style !== 'path' && style !== 'virtual') throw usage('AWS_S3_ADDRESSING_STYLE is "path" or "virtual"');
  if (style === 'path') return { endpoint, root: `/${bucket}/` };
  if (isIP(endpoint.hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw usage('AWS_S3_ADDRESSING_STYLE=virtual needs an AWS_ENDPOINT_URL with a name, not an IP address');
  return { endpoint: new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}`), root: '/' };
}

/** The text is never part of an error: people write passwords into URLs. */
function readEndpoint(text: string): URL {
  const url = URL.parse(text);
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username ||
    url.password ||
    url.pathname !== '/' ||
    url.search
  )
    throw usage('AWS_ENDPOINT_URL must be http://HOST:PORT or https://HOST:PORT');
  return url;
}

function usage(detail: string): AssayError {
  return new AssayError('ASSAY_USAGE', detail);
}
