// The origin check of requests without a token: it refuses those from web pages of another origin.
// Guarantee: such a page cannot make the server act.
//
// A browser lets every page send a GET, or a POST of text, to any server. The page cannot read the response,
// but the server has acted by then. Browsers send Origin and Sec-Fetch-Site, and build tools send neither.
// A page does not know the token, so a request with one does not need this check.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';

/** `host` is the Host header, or :authority. Throws if the request comes from a page of another origin. */
export type OriginCheck = (headers: IncomingHttpHeaders, host: string | undefined) => void;

/** For a server with tokens: a request without one may still act, as the anonymous identity. */
export function sameOriginUnlessCredential(headers: IncomingHttpHeaders, host: string | undefined): void {
  if (headers.authorization === undefined) sameOriginOnly(headers, host);
}

export function sameOriginOnly(headers: IncomingHttpHeaders, host: string | undefined): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw foreign(`Sec-Fetch-Site ${site}`);
  if (origin !== undefined && !isOriginOf(origin, host)) throw foreign(`Origin ${origin}`);
}

/** Ignores the scheme: a proxy may terminate TLS for this server. */
function isOriginOf(origin: string, host: string | undefined): boolean {
  const name = origin.replace(/^https?:\/\//, '');
  return name !== origin && name.toLowerCase() === host?.toLowerCase();
}

function foreign(what: string): AssayError {
  return new AssayError('ASSAY_FOREIGN_ORIGIN', `${JSON.stringify(what)} is not this server’s own page`);
}
