// Leave to upload or download one thing for a while, as a URL: who was let in asks for it, and whoever it is
// then given to needs no token. It is signed with a secret that this process made for itself, so a restart
// ends all of them.
//
// The signature is plain hex, and stands in a query: clients were seen to encode anything else twice, and to
// add their own parameters with "&".
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';

const SECRET = randomBytes(32);

/** `subject` is made of parts of a path. */
export function signedUrl(exchange: Exchange, subject: string, now = Date.now()): string {
  const path = `${subject}/${now + SERVER.signedUrlMs}`;
  return `${originOf(exchange)}/actions/${path}?sig=${sign(path).toString('hex')}`;
}

/** The subject of a ticket that is good. */
export function verifiedSubject(path: string, query: URLSearchParams, now = Date.now()): string {
  const slash = path.lastIndexOf('/');
  const signature = query.get('sig') ?? '';
  const isRight = SIGNATURE.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), sign(path));
  if (!isRight || Number(path.slice(slash + 1)) < now) {
    throw new AssayError('ASSAY_BAD_TICKET', 'the address is not, or no longer, a signed one');
  }
  return path.slice(0, slash);
}

const SIGNATURE = /^[0-9a-f]{64}$/;

function sign(path: string): Buffer {
  return createHmac('sha256', SECRET).update(path).digest();
}

const HOST = /^[0-9A-Za-z.:[\]_-]+$/;

/** The server as the client knows it; a proxy that speaks TLS for us says so in a header. */
function originOf({ request: { headers, socket } }: Exchange): string {
  const isSecure = isTls(socket) || headers['x-forwarded-proto'] === 'https';
  const host = headers.host ?? '';
  if (!HOST.test(host)) throw new AssayError('ASSAY_BAD_MESSAGE', 'the Host header names no host');
  return `${isSecure ? 'https' : 'http'}://${host}`;
}

function isTls(socket: object): socket is TLSSocket {
  return 'encrypted' in socket && socket.encrypted === true;
}
