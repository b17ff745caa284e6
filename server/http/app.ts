// The fastify application for every page and every JSON API: routing, schemas, body parsing and error
// responses. Guarantee: a fastify route has the same checks, limits, counts and error responses as a request
// on the hot path.
//
// Each request carries an Exchange. A route declares in its `config` under which name it is counted (`route`),
// in which format its protocol expects errors (`errors`), and whether it needs no credential (`isPublic`).
// Every other address needs one, also those that do not exist. The hot path, in routes.ts, uses the Exchange
// without fastify.
import type { RequestListener, Server } from 'node:http';
import { Readable } from 'node:stream';
import { Ajv, type ValidateFunction } from 'ajv';
import fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify';
import { AssayError } from '../../core/errors.ts';
import { NAMESPACE_HEADER, parseNamespace } from '../../core/namespace.ts';
import { STORE } from '../../store/limits.ts';
import type { Requirement } from '../access/rights.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../request/metrics.ts';
import { clientErrorHandler } from './connections.ts';
import { type ErrorFormat, PAGE_ERRORS } from './error-response.ts';
import { Exchange } from './exchange.ts';
import { receiveJson } from './json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
  interface FastifyContextConfig {
    route?: Route;
    errors?: ErrorFormat;
    /** The format of errors for a browser. */
    htmlErrors?: ErrorFormat;
    /** Answers requests without a credential. */
    isPublic?: boolean;
    /** GET and HEAD also take the cookie of a browser's login as a credential. */
    acceptsSession?: boolean;
  }
}

/**
 * `serverFactory` makes the HTTP server. It passes to its argument the requests that the hot path does not
 * answer. `unknown` is the config of every address that does not exist.
 */
export function createApp(
  context: ServerContext,
  serverFactory: (app: RequestListener) => Server,
  unknown: FastifyContextConfig,
): FastifyInstance {
  const app = fastify({
    serverFactory,
    clientErrorHandler,
    /** A namespace is one parameter. Its own limit is in core/namespace.ts. */
    routerOptions: { maxParamLength: 3 * context.limits.maxHeaderBytes },
    /** URLs that the router cannot decode. No hook has run for them. */
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      exchangeOf(request, reply, context, unknown).run(async (exchange) => {
        await authorize(request, exchange, unknown);
        throw notFound(request);
      });
    },
  });
  checkLate(app);
  app.decorateRequest('exchange');
  app.addHook('onRequest', async (request, reply) => {
    const config = request.is404 ? unknown : request.routeOptions.config;
    request.exchange = exchangeOf(request, reply, context, config);
    request.exchange.check();
    if (!config.isPublic) await authorize(request, request.exchange, config);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', parseBody);
  app.addHook<string | undefined>('onSend', async ({ exchange }, reply, payload) => {
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
    const text = isJson && payload !== undefined ? `${payload}\n` : payload;
    if (isJson) reply.header('content-type', 'application/json');
    const body = sendable(exchange, text);
    if (body !== text) reply.header('content-length', Buffer.byteLength(text ?? ''));
    if (exchange.namespace) reply.header(NAMESPACE_HEADER, exchange.namespace);
    exchange.countResponse(reply.statusCode);
    return body;
  });
  app.setErrorHandler((error, { exchange }, reply) => {
    reply.hijack();
    exchange.answerError(catalogued(error));
  });
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  return app;
}

/**
 * Compiles the schema of a route at its first request. Fastify's own way compiles all of them when the server starts: that
 * takes a fifth of the start's CPU time, and most servers never get a request for most routes.
 */
function checkLate(app: FastifyInstance): void {
  /**
   * A value of the wrong type is refused, not converted. Ajv does not compare our own schemas with the schema of schemas:
   * that would double the time of a first request, and strict mode refuses an unknown word all the same.
   */
  const ajv = new Ajv({
    coerceTypes: false,
    removeAdditional: false,
    addUsedSchema: false,
    validateSchema: false,
  });
  app.setValidatorCompiler<object>(({ schema }) => {
    let check: ValidateFunction | undefined;
    return (value: unknown) => {
      check ??= ajv.compile(schema);
      return check(value) || { error: check.errors ?? [] };
    };
  });
}

function exchangeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  context: ServerContext,
  { route = 'other', errors = PAGE_ERRORS, htmlErrors }: FastifyContextConfig,
): Exchange {
  const format = (acceptsHtml(request) && htmlErrors) || errors;
  return new Exchange(request.raw, reply.raw, context, route, format);
}

/** fastify answers 404 for a method without a route. The catalogue wants 405, before the body is read. */
export function onlyMethods(
  app: FastifyInstance,
  url: string,
  { config = {} }: { readonly config?: FastifyContextConfig },
  ...methods: readonly HTTPMethods[]
): void {
  app.route({
    config,
    method: app.supportedMethods.filter((method) => !methods.includes(method)),
    url,
    onRequest: async ({ method }) => {
      throw new AssayError('ASSAY_METHOD_NOT_ALLOWED', `this address does not accept ${method}`);
    },
    handler: () => {},
  });
}

/** Browsers name HTML. Build tools and curl do not. */
export function acceptsHtml({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.accept?.includes('text/html') ?? false;
}

/** A credential in the header wins. A cookie that is not valid counts as none. */
export async function authorize(
  { headers, method }: FastifyRequest,
  exchange: Exchange,
  { acceptsSession = false }: FastifyContextConfig,
): Promise<void> {
  const isReading = method === 'GET' || method === 'HEAD';
  const takesCookie = isReading && acceptsSession && headers.authorization === undefined;
  const identity = takesCookie ? await exchange.server.browserSessions.identityOf(headers) : undefined;
  if (identity) exchange.authorizeAs(identity);
  else exchange.authorize();
}

/** A hook for routes that need these rights besides a credential. */
export function authorized(requirement: Requirement): (request: FastifyRequest) => Promise<void> {
  return async ({ exchange }) => exchange.require(requirement);
}

/**
 * Every API takes JSON, whatever type the client names. Without a route, the response does not wait for the
 * body.
 */
async function parseBody({ exchange, is404 }: FastifyRequest): Promise<unknown> {
  return is404 ? undefined : receiveJson(exchange);
}

/** A large response is sent in slices, so that the minimum rate sees the client's progress. */
function sendable(exchange: Exchange, text: string | undefined): Readable | string | undefined {
  const bytes = Buffer.from(text ?? '');
  if (exchange.method === 'HEAD' || bytes.length <= STORE.inlineBytes) {
    exchange.watchClient();
    return text;
  }
  exchange.reserveMemory(bytes.length);
  return Readable.from(exchange.slices(bytes), { objectMode: false });
}

/** An address in a wrong spelling gets another error than an address that nothing serves. */
function notFound({ url }: FastifyRequest): AssayError {
  parseNamespace(url.startsWith('/') ? url.slice(1) : url);
  return new AssayError(
    'ASSAY_NOT_FOUND',
    'addresses are PREFIX/cas/SHA256 and PREFIX/ac/SHA256; GET / lists those of other protocols',
  );
}

/** Failed validation and unreadable content types are errors of the client. */
function catalogued(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isClients = code === 'FST_ERR_VALIDATION' || code.startsWith('FST_ERR_CTP_');
  return isClients && error instanceof Error ? new AssayError('ASSAY_BAD_MESSAGE', error.message) : error;
}
