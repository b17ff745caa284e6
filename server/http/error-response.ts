// An error of the catalogue as the head and body of an answer, in the form that the client reads.
import type { AssayError } from '../../core/errors.ts';
import { SERVER } from '../limits.ts';

/** Names and values in turn, as writeHead takes them: an object would be copied and checked on every answer. */
export type Headers = string[];

/** How a protocol says no. */
export interface ErrorFormat {
  readonly type: string;
  /** What Allow names where the method was not the right one. */
  readonly methods: string;
  /** `message` is what the client may know of the error's detail. */
  body(error: AssayError, message: string): string;
}

const CHALLENGE = ['www-authenticate', 'Bearer', 'www-authenticate', 'Basic realm="assay"'];

export function jsonErrors(methods: string): ErrorFormat {
  return {
    type: 'application/json',
    methods,
    body: ({ code, entry: { hint } }, message) => JSON.stringify({ code, message, wayOut: hint }),
  };
}

export const PAGE_ERRORS = jsonErrors('GET, HEAD');
export const CONTENT_ERRORS = jsonErrors('GET, HEAD, PUT');

export function errorHeaders({ code, entry }: AssayError, form: ErrorFormat): Headers {
  const type = ['content-type', form.type];
  if (code === 'ASSAY_UNAUTHORIZED') return [...type, ...CHALLENGE];
  if (code === 'ASSAY_BAD_ENCODING') return [...type, 'accept-encoding', 'identity'];
  if (code === 'ASSAY_STORE_FULL') return [...type, 'retry-after', String(SERVER.fullRetryAfterSeconds)];
  if (entry.status === 503) return [...type, 'retry-after', String(SERVER.retryAfterSeconds)];
  if (code === 'ASSAY_METHOD_NOT_ALLOWED') return [...type, 'allow', form.methods];
  return type;
}

/** The detail of a fault may name folders of this machine: it is for the log, not for the client. */
export function errorBody(error: AssayError, form: ErrorFormat): Buffer {
  const { status, summary } = error.entry;
  return Buffer.from(`${form.body(error, status >= 500 ? summary : error.detail)}\n`);
}
