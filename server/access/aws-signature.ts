// Verifies AWS Signature Version 4 in the Authorization header. A valid signature proves that a holder of the
// secret key recently signed this method, URL and these headers. The hash of the body is a signed header. It
// is compared when the body has arrived (adapter.ts).
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { SERVER } from '../limits.ts';
import type { AccessControl } from './access-control.ts';
import { type Identity, ROOT_IDENTITY } from './identity.ts';

export interface S3Keys {
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface SignatureCheck {
  /** True if some S3 client can sign: with the server's own S3 keys. */
  readonly isRequired: boolean;
  /** The identity that signed the request. Undefined if the signature is wrong, or by a key that nobody has. */
  identify(request: SignedRequest): Identity | undefined;
}

type SignedRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Returns an object that does not contain the keys, so that printing or logging it reveals nothing. */
export function signatureCheck(
  access: Pick<AccessControl, 'ofAccessKey'>,
  keys?: S3Keys,
  now: () => number = Date.now,
): SignatureCheck {
  const find = (accessKey: string) =>
    accessKey === keys?.accessKey
      ? { identity: ROOT_IDENTITY, secretKey: keys.secretKey }
      : access.ofAccessKey(accessKey);
  return {
    isRequired: keys !== undefined,
    identify(request) {
      const accessKey = AUTHORIZATION.exec(request.headers.authorization ?? '')?.groups?.key;
      const found = accessKey === undefined ? undefined : find(accessKey);
      return found && isSigned(request, found.secretKey, now()) ? found.identity : undefined;
    },
  };
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=(?<key>[^/, ]+)\/(?<scope>(?<day>\d{8})\/[^/, ]+\/s3\/aws4_request), *SignedHeaders=(?<signed>[a-z0-9;-]+), *Signature=(?<signature>[0-9a-f]{64})$/;

function isSigned(
  { method = '', url = '', headers }: SignedRequest,
  secretKey: string,
  now: number,
): boolean {
  const found = AUTHORIZATION.exec(headers.authorization ?? '')?.groups;
  const time = headers['x-amz-date'];
  if (!found || typeof time !== 'string' || !isRecent(time, now)) return false;
  const { scope = '', day = '', signed = '', signature = '' } = found;
  const names = signed.split(';');
  if (!time.startsWith(day) || !coversRequiredHeaders(names)) return false;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical(method, url, headers, names))].join('\n');
  const right = hmac(signingKey(secretKey, scope), text);
  return timingSafeEqual(right, Buffer.from(signature, 'hex'));
}

/** Without these headers in it, a signature could be copied to another request. */
function coversRequiredHeaders(names: readonly string[]): boolean {
  return ['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name));
}

const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

function isRecent(time: string, now: number): boolean {
  if (!TIME.test(time)) return false;
  const then = Date.parse(time.replace(TIME, '$1-$2-$3T$4:$5:$6Z'));
  return Math.abs(now - then) <= SERVER.signatureSkewMs;
}

/** The canonical request. The path stays as sent: S3 encodes a path once, and the client already has. */
function canonical(
  method: string,
  url: string,
  headers: IncomingHttpHeaders,
  names: readonly string[],
): string {
  const [path = '', query = ''] = url.split('?', 2);
  const lines = names.map((name) => `${name}:${headerValue(headers, name)}\n`).join('');
  const payload = headerValue(headers, 'x-amz-content-sha256');
  return [method, path, canonicalQuery(query), lines, names.join(';'), payload].join('\n');
}

function headerValue(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '')
    .trim()
    .replace(/ +/g, ' ');
}

function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .sort()
    .join('&');
}

function signingKey(secret: string, scope: string): Buffer {
  return scope.split('/').reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secret}`));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
