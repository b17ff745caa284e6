// The pages about the server itself, as a fastify plugin: /, /status, /healthz and /metrics. They take GET and HEAD.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { VERSION } from '../../core/version.ts';
import { authorize, onlyMethods } from '../http/app.ts';
import { frontPage } from './front-page.ts';
import { PROTOCOLS } from './metrics.ts';

export async function pages(app: FastifyInstance): Promise<void> {
  onlyMethods(app, '/', {}, 'GET', 'HEAD');
  for (const route of ['status', 'healthz', 'metrics'] as const) {
    onlyMethods(app, `/${route}`, { config: { route } }, 'GET', 'HEAD');
  }

  app.get('/', (request, reply) => {
    reply.type('text/plain; charset=utf-8');
    return frontPage(request.headers.host);
  });

  /** Needs no token: load balancers have none. */
  app.get('/healthz', { config: { route: 'healthz' }, schema: { response: HEALTH } }, (request, reply) => {
    const { store, readOnly } = request.exchange.server;
    const reason = store.fault?.(!readOnly);
    if (reason === undefined) return { status: 'ok' };
    reply.code(503);
    return { status: 'fault', reason };
  });

  app.get('/metrics', { config: { route: 'metrics' }, onRequest: authorize }, (request, reply) => {
    const { metrics } = request.exchange.server;
    reply.type(metrics.contentType);
    return metrics.page();
  });

  app.get(
    '/status',
    { config: { route: 'status' }, onRequest: authorizeIfAsked, schema: { response: STATUS } },
    (request) => {
      const { limits, readOnly, info } = request.exchange.server;
      return {
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
        ...(isTrusted(request) && {
          uptimeSeconds: Math.floor((Date.now() - info.startedAt) / 1000),
          store: info.storeFolder,
        }),
      };
    },
  );
}

const HEALTH = {
  '2xx': { type: 'object', properties: { status: { type: 'string' } } },
  '5xx': { type: 'object', properties: { status: { type: 'string' }, reason: { type: 'string' } } },
};

const STATUS = {
  200: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      version: { type: 'string' },
      capabilities: {
        type: 'object',
        properties: {
          protocols: { type: 'array', items: { type: 'string' } },
          digestFunctions: { type: 'array', items: { type: 'string' } },
          ranges: { type: 'boolean' },
          write: { type: 'boolean' },
          maxBlobBytes: { type: 'integer' },
          maxResultBytes: { type: 'integer' },
        },
      },
      uptimeSeconds: { type: 'integer' },
      store: { type: 'string' },
    },
  },
};

/** Clients read /status before they have a token. A token that is sent must be right. */
async function authorizeIfAsked({ exchange, headers }: FastifyRequest): Promise<void> {
  if (headers.authorization !== undefined) exchange.authorize();
}

/** The client has the token, or the server has none and listens on this machine only. */
function isTrusted({ exchange, headers }: FastifyRequest): boolean {
  const { tokenCheck, info } = exchange.server;
  return tokenCheck.isRequired ? headers.authorization !== undefined : info.isLocal;
}
