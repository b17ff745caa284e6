// Adapter: the interface of one HTTP protocol, with its base path and its answer to a request.
// server/adapters.ts lists all adapters and finds the one for a URL.
import { AssayError } from '../../../core/errors.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Protocol } from '../../request/tools.ts';
import type { JsonApi } from './json-api.ts';

export interface Adapter {
  /** The name in metrics and in the log. */
  readonly protocol: Protocol;
  /** The prefix of the adapter's URLs. Begins and ends with "/". */
  readonly base: string;
  /** A second prefix, after "/", for tools that cannot be given a URL with a path. */
  readonly atRoot?: string;
  /** The part of the protocol that fastify answers, if it has one. OPTIONS stays with the adapter. */
  readonly api?: JsonApi;
  /** The methods that need no credential. */
  readonly publicMethods?: readonly string[];
  /** The format of error responses. */
  readonly errors: ErrorFormat;
  /**
   * Answers one request. An AssayError that it throws becomes the error response.
   * It must call `exchange.authorize` first: without it, the request has no store.
   */
  answer(exchange: Exchange, target: RequestTarget): Promise<void>;
}

/** The rest of the URL after the base, as sent: nothing is decoded. */
export interface RequestTarget {
  readonly path: string;
  /** The text after "?", or "". */
  readonly query: string;
}

export function targetBelow(baseLength: number, url: string): RequestTarget {
  const mark = url.indexOf('?');
  const end = mark === -1 ? url.length : mark;
  return { path: url.slice(baseLength, end), query: url.slice(end + 1) };
}

export function methodNotAllowed({ method }: Exchange): AssayError {
  return new AssayError('ASSAY_METHOD_NOT_ALLOWED', `this address does not accept ${method}`);
}

export function badKey(form: string): AssayError {
  return new AssayError('ASSAY_BAD_KEY', `the valid form is ${form}`);
}
