// The addresses that are about the server itself.
import { AssayError } from '../../core/errors.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { VERSION } from '../../core/version.ts';
import type { Exchange } from '../http/exchange.ts';
import { answerJson } from '../http/json.ts';
import { PROTOCOLS } from './metrics.ts';

/** Open to everybody: load balancers hold no token. */
export async function healthz(exchange: Exchange): Promise<void> {
  onlyReading(exchange);
  const { store, readOnly } = exchange.server;
  const reason = store.fault?.(!readOnly);
  if (reason === undefined) answerJson(exchange, { status: 'ok' });
  else answerJson(exchange, { status: 'fault', reason }, 503);
}

export async function metricsPage(exchange: Exchange): Promise<void> {
  onlyReading(exchange);
  exchange.authorize();
  const { metrics } = exchange.server;
  exchange.answer(200, ['content-type', metrics.contentType], Buffer.from(await metrics.page()));
}

/** What a client may rely on is for everybody, since clients ask before they have a token; the rest is for insiders. */
export async function status(exchange: Exchange): Promise<void> {
  onlyReading(exchange);
  const { request, server } = exchange;
  if (request.headers.authorization !== undefined) exchange.authorize();
  const { limits, readOnly, about } = server;
  const forEverybody = {
    name: 'assay',
    version: VERSION,
    capabilities: {
      protocols: ['reapi-grpc', 'bazel-http', ...PROTOCOLS],
      digestFunctions: ['SHA256'],
      ranges: true,
      write: !readOnly,
      maxBlobBytes: limits.maxBlobBytes,
      maxResultBytes: limits.maxResultBytes,
    },
  };
  const forInsiders = {
    uptimeSeconds: Math.floor((Date.now() - about.startedAt) / 1000),
    store: about.storeFolder,
  };
  answerJson(exchange, isInsider(exchange) ? { ...forEverybody, ...forInsiders } : forEverybody);
}

/** An odd spelling of an address is told apart from an address that nobody serves. */
export async function nothingHere({ request }: Exchange): Promise<void> {
  const url = request.url ?? '';
  parseNamespace(url.startsWith('/') ? url.slice(1) : url);
  throw new AssayError(
    'ASSAY_NOT_FOUND',
    'addresses are PREFIX/cas/SHA256 and PREFIX/ac/SHA256; GET / lists those of other protocols',
  );
}

/** Whoever holds the token; where there is none, whoever can reach a server that listens on this machine only. */
function isInsider({ request, server }: Exchange): boolean {
  return server.tokenCheck.isRequired ? request.headers.authorization !== undefined : server.about.isLocal;
}

export function onlyReading({ method }: Exchange): void {
  if (method === 'GET' || method === 'HEAD') return;
  throw new AssayError('ASSAY_METHOD_NOT_ALLOWED', `${method} is not taken here`);
}
