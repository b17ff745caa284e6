// Which bucket, where, and with which key: from `s3://BUCKET/PREFIX` and the AWS_… variables.
// The secret key lies behind a function, so that printing or logging the settings reveals nothing.
import { AssayError } from '../../../core/errors.ts';

export interface S3Settings {
  /** Without a path. Requests name the bucket in the path, not in the host. */
  readonly endpoint: URL;
  readonly bucket: string;
  /** Empty, or with a "/" at its end. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: () => string;
}

export type S3Environment = Readonly<Record<string, string | undefined>>;

const ADDRESS = /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>[A-Za-z0-9._/-]*))?$/;

export function readS3Settings(address: string, environment: S3Environment): S3Settings {
  const { bucket, prefix = '' } = ADDRESS.exec(address)?.groups ?? {};
  if (bucket === undefined || prefix.split('/').some((part) => part === '.' || part === '..'))
    throw usage('--blobs takes s3://BUCKET/PREFIX, with letters, digits and "._-" in the prefix');
  const secretKey = required(environment, 'AWS_SECRET_ACCESS_KEY');
  const region = environment.AWS_REGION || 'us-east-1';
  const trimmed = prefix.replace(/^\/+|\/+$/g, '');
  return {
    endpoint: readEndpoint(environment.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`),
    bucket,
    prefix: trimmed === '' ? '' : `${trimmed}/`,
    region,
    accessKey: required(environment, 'AWS_ACCESS_KEY_ID'),
    secretKey: () => secretKey,
  };
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

function required(environment: S3Environment, name: string): string {
  const value = environment[name];
  if (!value) throw usage(`--blobs needs the variable ${name}`);
  return value;
}

function usage(detail: string): AssayError {
  return new AssayError('ASSAY_USAGE', detail);
}
