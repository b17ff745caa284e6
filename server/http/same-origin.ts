// Refuses what a web page of another origin sends. A browser says in Origin and Sec-Fetch-Site which page a request is from;
// no build tool sends either.
//
// A page needs no leave to send a GET, or a POST of text, to any server that its browser can reach. It can't read the
// answer, but the server has acted on it. A token keeps pages out, so only a server without one looks at this.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../core/errors.ts';

/** Takes the headers of a request and the host that it was sent to. */
export type OriginCheck = (headers: IncomingHttpHeaders, host: string | undefined) => void;

export function anyOrigin(): void {}

export function sameOriginOnly(headers: IncomingHttpHeaders, host: string | undefined): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw foreign(`Sec-Fetch-Site ${site}`);
  if (origin !== undefined && !isOf(origin, host)) throw foreign(`Origin ${origin}`);
}

/** The scheme is not compared: a proxy may speak TLS for this server. */
function isOf(origin: string, host: string | undefined): boolean {
  const name = origin.replace(/^https?:\/\//, '');
  return name !== origin && name.toLowerCase() === host?.toLowerCase();
}

function foreign(what: string): AssayError {
  return new AssayError('ASSAY_FOREIGN_ORIGIN', `${JSON.stringify(what)} is not this server’s own page`);
}
