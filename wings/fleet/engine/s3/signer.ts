// Signs requests by AWS Signature Version 4. The SHA-256 of the body is part of the signature if it is known before the
// body is sent: then the server refuses a body that was changed on the way.
import { createHmac, hash } from 'node:crypto';
import type { Credentials } from '../aws/credentials.ts';
import type { S3Settings } from './settings.ts';

interface UnsignedRequest {
  readonly method: string;
  /** Encoded, as it is sent. */
  readonly path: string;
  /** Encoded, and sorted by name. */
  readonly query: string;
  /** The SHA-256 of the body, if it is known. */
  readonly sha256?: string | undefined;
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';
const SIGNED_HEADERS = 'host;x-amz-content-sha256;x-amz-date';
const SESSION_TOKEN = 'x-amz-security-token';

export class Signer {
  readonly #settings: S3Settings;
  /** The key of a day. Deriving it takes four times as long as a signature. */
  #key: { readonly day: string; readonly of: Credentials; readonly bytes: Buffer } | undefined;

  constructor(settings: S3Settings) {
    this.#settings = settings;
  }

  /** The headers that sign a request, with the time in milliseconds since 1970. */
  sign(
    { method, path, query, sha256: payload = UNSIGNED }: UnsignedRequest,
    credentials: Credentials,
    now: number,
  ): Record<string, string> {
    const { endpoint, region } = this.#settings;
    const sessionToken = credentials.sessionToken?.();
    const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
    const day = time.slice(0, 8);
    const scope = `${day}/${region}/s3/aws4_request`;
    const token = sessionToken === undefined ? '' : `${SESSION_TOKEN}:${sessionToken}\n`;
    const headers = `host:${endpoint.host}\nx-amz-content-sha256:${payload}\nx-amz-date:${time}\n${token}`;
    const names = sessionToken === undefined ? SIGNED_HEADERS : `${SIGNED_HEADERS};${SESSION_TOKEN}`;
    const canonical = `${method}\n${path}\n${query}\n${headers}\n${names}\n${payload}`;
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical)}`;
    const signature = hmac(this.#keyOf(day, credentials), text).toString('hex');
    return {
      'x-amz-content-sha256': payload,
      'x-amz-date': time,
      ...(sessionToken === undefined ? {} : { [SESSION_TOKEN]: sessionToken }),
      authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    };
  }

  #keyOf(day: string, of: Credentials): Buffer {
    if (this.#key?.day !== day || this.#key.of !== of) {
      const parts = [day, this.#settings.region, 's3', 'aws4_request'];
      this.#key = { day, of, bytes: parts.reduce<Buffer>(hmac, Buffer.from(`AWS4${of.secretKey()}`)) };
    }
    return this.#key.bytes;
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
