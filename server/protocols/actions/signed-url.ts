// Signed URLs: permission to upload or download one thing for a limited time, without a token.
// A URL acts with the credential that asked for it, as that is now: it ends with its token, and has no more
// rights. The URL holds the credential encrypted, so whoever sees the URL learns nothing of it.
// The secrets are random and belong to this process, so a restart invalidates all signed URLs.
//
// The signature is hex in the query. Some clients encode other characters twice, and add parameters with "&".
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';

const SECRET = randomBytes(32);
const CREDENTIAL_KEY = randomBytes(32);

/** `subject`: what the URL permits, as parts of a path. */
export function signedUrl(exchange: Exchange, subject: string, now = Date.now()): string {
  const credential = encrypt(exchange.request.headers.authorization);
  const path = `${subject}/${credential}/${now + SERVER.signedUrlMs}`;
  return `${originOf(exchange)}/actions/${path}?sig=${sign(path).toString('hex')}`;
}

interface SignedSubject {
  readonly subject: string;
  /** The header Authorization of the request that asked for the URL. */
  readonly authorization: string | undefined;
}

/** The subject of a signed URL. Throws if the signature is wrong or expired. */
export function verifiedSubject(path: string, query: URLSearchParams, now = Date.now()): SignedSubject {
  const slash = path.lastIndexOf('/');
  const signature = query.get('sig') ?? '';
  const isRight = SIGNATURE.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), sign(path));
  if (!isRight || Number(path.slice(slash + 1)) < now) {
    throw new AssayError('ASSAY_BAD_TICKET', 'the signature of the URL is wrong or has expired');
  }
  const credentialAt = path.lastIndexOf('/', slash - 1);
  const authorization = decrypt(path.slice(credentialAt + 1, slash));
  return { subject: path.slice(0, credentialAt), authorization };
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** In place of a credential: a server without tokens gets none. */
const NO_CREDENTIAL = 'none';

/** As hex, like the signature. */
function encrypt(authorization: string | undefined): string {
  if (authorization === undefined) return NO_CREDENTIAL;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, CREDENTIAL_KEY, nonce);
  const text = Buffer.concat([cipher.update(authorization, 'latin1'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('hex');
}

/** The signature of the URL has been checked, so this process has made the text. */
function decrypt(text: string): string | undefined {
  if (text === NO_CREDENTIAL) return undefined;
  const sealed = Buffer.from(text, 'hex');
  const decipher = createDecipheriv(CIPHER, CREDENTIAL_KEY, sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([opened, decipher.final()]).toString('latin1');
}

const SIGNATURE = /^[0-9a-f]{64}$/;

function sign(path: string): Buffer {
  return createHmac('sha256', SECRET).update(path).digest();
}

const HOST = /^[0-9A-Za-z.:[\]_-]+$/;

/** The server's origin as the client sees it. A proxy that terminates TLS says so in X-Forwarded-Proto. */
function originOf({ request: { headers, socket } }: Exchange): string {
  const isSecure = isTls(socket) || headers['x-forwarded-proto'] === 'https';
  const host = headers.host ?? '';
  if (!HOST.test(host)) throw new AssayError('ASSAY_BAD_MESSAGE', 'the Host header is not valid');
  return `${isSecure ? 'https' : 'http'}://${host}`;
}

function isTls(socket: object): socket is TLSSocket {
  return 'encrypted' in socket && socket.encrypted === true;
}
