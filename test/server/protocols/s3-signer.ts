// Signs S3 requests by AWS Signature Version 4. Written for the tests from the specification: it shares no code
// with the server's verifier.
import { createHash, createHmac } from 'node:crypto';

export interface S3Signing {
  readonly keys: { readonly accessKey: string; readonly secretKey: string };
  readonly time?: Date;
  readonly payload?: string;
  /** Signs this path instead of the one in the URL. */
  readonly signedPath?: string;
}

/** The headers of a signed request. */
export function signedForS3(method: string, url: string, signing: S3Signing): Record<string, string> {
  const { keys, time = new Date(), payload = 'UNSIGNED-PAYLOAD' } = signing;
  const { host, pathname, search } = new URL(url);
  const stamp = time.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${stamp.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const request = [
    method,
    signing.signedPath ?? pathname,
    search.slice(1),
    `host:${host}`,
    `x-amz-content-sha256:${payload}`,
    `x-amz-date:${stamp}`,
    '',
    'host;x-amz-content-sha256;x-amz-date',
    payload,
  ].join('\n');
  const hashed = createHash('sha256').update(request).digest('hex');
  let key: Buffer = Buffer.from(`AWS4${keys.secretKey}`);
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  const signature = createHmac('sha256', key)
    .update(`AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${hashed}`)
    .digest('hex');
  return {
    'x-amz-date': stamp,
    'x-amz-content-sha256': payload,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKey}/${scope}, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
  };
}
