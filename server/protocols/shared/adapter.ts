// What an adapter is: a protocol's own beginnings of paths, and an answer to whatever is asked below them.
import { AssayError } from '../../../core/errors.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Protocol } from '../../pages/metrics.ts';

export interface Adapter {
  readonly protocol: Protocol;
  /** Begins and ends with "/". */
  readonly base: string;
  /** The beginning of the same paths without the base, for tools that can not be told of one. */
  readonly atRoot?: string;
  readonly errors: ErrorFormat;
  /** May refuse by throwing or by rejecting. Nobody has been let in yet: that is its first duty. */
  answer(exchange: Exchange, place: RequestTarget): Promise<void>;
}

/** A URL below a base, as it was sent: nothing is decoded. */
export interface RequestTarget {
  readonly path: string;
  /** What follows the "?", or nothing. */
  readonly query: string;
}

export function targetBelow(baseLength: number, url: string): RequestTarget {
  const mark = url.indexOf('?');
  const end = mark === -1 ? url.length : mark;
  return { path: url.slice(baseLength, end), query: url.slice(end + 1) };
}

export function methodNotAllowed({ method }: Exchange): AssayError {
  return new AssayError('ASSAY_METHOD_NOT_ALLOWED', `${method} is not taken here`);
}

export function badKey(form: string): AssayError {
  return new AssayError('ASSAY_BAD_KEY', `addresses are ${form}`);
}
