// An error of the catalogue as the head and body of an answer.
import type { AssayError } from '../core/errors.ts';
import type { Route } from './metrics.ts';

/** Names and values in turn, as writeHead takes them: an object would be copied and checked on every answer. */
export type Headers = string[];

const JSON_TYPE = ['content-type', 'application/json'];
const CHALLENGE = ['www-authenticate', 'Bearer', 'www-authenticate', 'Basic realm="assay"'];

export function headersOf({ code }: AssayError, route: Route): Headers {
  if (code === 'ASSAY_UNAUTHORIZED') return [...JSON_TYPE, ...CHALLENGE];
  if (code === 'ASSAY_METHOD_NOT_ALLOWED') return [...JSON_TYPE, 'allow', methodsOf(route)];
  return JSON_TYPE;
}

function methodsOf(route: Route): string {
  return route === 'cas' || route === 'ac' ? 'GET, HEAD, PUT' : 'GET, HEAD';
}

/** The detail of a fault may name folders of this machine: it is for the log, not for the client. */
export function bodyOf({ code, detail, entry }: AssayError): Buffer {
  const message = entry.status >= 500 ? entry.summary : detail;
  return Buffer.from(`${JSON.stringify({ code, message, wayOut: entry.wayOut })}\n`);
}
