// Signed URLs: permission to upload or download one thing for a limited time, without a token.
// The secret is random and belongs to this process, so a restart invalidates all signed URLs.
//
// The signature is hex in the query. Some clients encode other characters twice, and add parameters with "&".
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';

const SECRET = randomBytes(32);

/** `subject`: what the URL permits, as parts of a path. */
export function signedUrl(exchange: Exchange, subject: string, now = Date.now()): string {
  const path = `${subject}/${now + SERVER.signedUrlMs}`;
  return `${originOf(exchange)}/actions/${path}?sig=${sign(path).toString('hex')}`;
}

/** The subject of a signed URL. Throws if the signature is wrong or expired. */
export function verifiedSubject(path: string, query: URLSearchParams, now = Date.now()): string {
  const slash = path.lastIndexOf('/');
  const signature = query.get('sig') ?? '';
  const isRight = SIGNATURE.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), sign(path));
  if (!isRight || Number(path.slice(slash + 1)) < now) {
    throw new AssayError('ASSAY_BAD_TICKET', 'the signature of the URL is wrong or has expired');
  }
  return path.slice(0, slash);
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
