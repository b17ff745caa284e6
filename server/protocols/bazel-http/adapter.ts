// Bazel's HTTP cache protocol: GET, HEAD and PUT on PREFIX/cas and PREFIX/ac, with any prefix.
// It is not in the list of adapters, because its URLs may begin with anything: it is tried after them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import { all } from '../../access/rights.ts';
import type { ServerContext } from '../../context.ts';
import { CONTENT_ERRORS } from '../../http/error-response.ts';
import { Exchange } from '../../http/exchange.ts';
import type { Kind } from '../../request/metrics.ts';
import { resumablePut } from '../resumable/adapter.ts';
import { getResult, putResult } from './ac.ts';
import { type Address, kindOf, parseAddress } from './address.ts';
import { checkBlobPreconditions, getBlob, putBlob } from './cas.ts';

/** Returns false, without any effect, if the URL is not of this protocol. */
export function bazelHttp(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerContext,
): boolean {
  const url = request.url ?? '';
  const kind = kindOf(url);
  if (!kind) return false;
  new Exchange(request, response, context, kind, CONTENT_ERRORS).run((exchange) =>
    answer(exchange, url, kind),
  );
  return true;
}

const REQUIREMENTS = {
  cas: { get: all('blobs:read'), put: all('blobs:write') },
  ac: { get: all('results:read'), put: all('results:write') },
} as const satisfies Record<Kind, object>;

function answer(exchange: Exchange, url: string, kind: Kind): Promise<void> {
  exchange.authorize(REQUIREMENTS[kind][exchange.method === 'PUT' ? 'put' : 'get']);
  const address = parseAddress(url, kind);
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      return get(exchange, address);
    case 'PUT':
      return put(exchange, address);
    default:
      throw new AssayError('ASSAY_METHOD_NOT_ALLOWED', `this address does not accept ${exchange.method}`);
  }
}

function get(exchange: Exchange, { kind, namespace, hash }: Address): Promise<void> {
  return kind === 'cas' ? getBlob(exchange, hash) : getResult(exchange, { namespace, key: hash });
}

async function put(exchange: Exchange, { kind, namespace, hash }: Address): Promise<void> {
  if (kind === 'ac') return putResult(exchange, { namespace, key: hash });
  await checkBlobPreconditions(exchange, hash);
  return resumablePut(exchange, namespace, hash) ?? putBlob(exchange, hash);
}
