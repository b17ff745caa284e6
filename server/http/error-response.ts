// The headers and the body of an error response, in the format of the client's protocol.
import type { IncomingMessage } from 'node:http';
import type { AssayError } from '../../core/errors.ts';
import { hasSession } from '../access/web/browser-session.ts';
import { ACCESS, SERVER } from '../limits.ts';

/** Alternating names and values, as writeHead accepts them: Node would copy an object for each response. */
export type Headers = string[];

/** The error responses of a protocol. */
export interface ErrorFormat {
  readonly type: string;
  /** The Allow header of a response to a wrong method. */
  readonly methods: string;
  /** Further headers of each error. */
  readonly headers?: Headers;
  /** False for people: a browser that is challenged asks for a password in a dialog of its own. */
  readonly isChallenging?: boolean;
  /** `message` contains nothing that the client must not see. */
  body(error: AssayError, message: string, request?: IncomingMessage): string;
}

const CHALLENGE = ['www-authenticate', 'Bearer', 'www-authenticate', 'Basic realm="assay"'];

/** A logged-in browser, or a page that loads something: the browser would cover the page with its own dialog. */
function isOfPage({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-dest': destination = 'document' } = headers;
  return destination !== 'document' || hasSession(headers);
}

export function jsonErrors(methods: string): ErrorFormat {
  return {
    type: 'application/json',
    methods,
    body: ({ code, entry: { hint } }, message) => JSON.stringify({ code, message, wayOut: hint }),
  };
}

export const PAGE_ERRORS = jsonErrors('GET, HEAD');
export const CONTENT_ERRORS = jsonErrors('GET, HEAD, PUT');

export function errorHeaders(
  { code, entry }: AssayError,
  format: ErrorFormat,
  request?: IncomingMessage,
): Headers {
  const type = ['content-type', format.type, ...(format.headers ?? [])];
  const isChallenging = format.isChallenging !== false && !(request && isOfPage(request));
  if (code === 'ASSAY_UNAUTHORIZED' && isChallenging) return [...type, ...CHALLENGE];
  if (code === 'ASSAY_BAD_ENCODING') return [...type, 'accept-encoding', 'identity'];
  if (code === 'ASSAY_STORE_FULL') return [...type, 'retry-after', String(SERVER.fullRetryAfterSeconds)];
  if (code === 'ASSAY_TOO_MANY_FAILURES')
    return [...type, 'retry-after', String(ACCESS.failedExchangesMs / 1000)];
  if (entry.status === 503) return [...type, 'retry-after', String(SERVER.retryAfterSeconds)];
  if (code === 'ASSAY_METHOD_NOT_ALLOWED') return [...type, 'allow', format.methods];
  return type;
}

/** The detail of a server error may name folders of this machine, so the client gets only the summary. */
export function errorBody(error: AssayError, format: ErrorFormat, request?: IncomingMessage): Buffer {
  const { status, summary } = error.entry;
  return Buffer.from(`${format.body(error, status >= 500 ? summary : error.detail, request)}\n`);
}
