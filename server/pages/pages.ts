// The pages about the server itself for machines, as a fastify plugin: /status, /healthz, /readyz and /metrics.
// They take GET and HEAD. All but /metrics are public. And the text at / of a server that has no pages for people.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { VERSION } from '../../core/version.ts';
import { seesWholeServer } from '../access/identity.ts';
import { all } from '../access/rights.ts';
import { authorized, onlyMethods } from '../http/app.ts';
import { PROTOCOLS } from '../request/tools.ts';
import { sendFrontPage } from './front-page.ts';

export async function frontPageRoute(app: FastifyInstance): Promise<void> {
  const config = { route: 'page', isPublic: true } as const;
  onlyMethods(app, '/', { config }, 'GET', 'HEAD');
  app.get('/', { config }, sendFrontPage);
}

export async function pages(app: FastifyInstance): Promise<void> {
  const isPublic = true;
  for (const route of ['status', 'healthz', 'readyz'] as const)
    onlyMethods(app, `/${route}`, { config: { route, isPublic } }, 'GET', 'HEAD');
  onlyMethods(app, '/metrics', { config: { route: 'metrics' } }, 'GET', 'HEAD');

  /** Needs no token: load balancers have none. */
  const health = { config: { route: 'healthz', isPublic }, schema: { response: HEALTH } } as const;
  app.get('/healthz', health, async (request, reply) => {
    const { wholeStore, readOnly } = request.exchange.server;
    const reason = await wholeStore.fault?.(!readOnly);
    if (reason === undefined) return { status: 'ok' };
    reply.code(503);
    return { status: 'fault', reason };
  });

  /**
   * Asks the parts of a fleet now. A load balancer sends no requests here while one of them is away, or once the
   * server is told to stop.
   */
  const ready = { config: { route: 'readyz', isPublic }, schema: { response: READY } } as const;
  app.get('/readyz', ready, async (request, reply) => {
    const { wholeStore, readOnly, lifecycle } = request.exchange.server;
    const parts = await wholeStore.parts?.();
    const away = Object.entries(parts ?? {}).find(([, state]) => state !== 'ok');
    const leaving = lifecycle.isLeaving ? 'the server is stopping' : undefined;
    const reason = leaving ?? (await wholeStore.fault?.(!readOnly)) ?? away?.[1];
    if (reason === undefined) return { status: 'ok', parts };
    reply.code(503);
    return { status: 'fault', reason, parts };
  });

  app.get(
    '/metrics',
    { config: { route: 'metrics' }, onRequest: authorized(all('stats')) },
    (request, reply) => {
      const { server, store } = request.exchange;
      const { metrics, accounting } = server;
      const { identity, counted } = store;
      accounting.count();
      reply.type(metrics.contentType);
      return seesWholeServer(identity) ? metrics.page() : metrics.pageOf(counted);
    },
  );

  app.get(
    '/status',
    { config: { route: 'status', isPublic }, onRequest: authorizeIfAsked, schema: { response: STATUS } },
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

/** The name of each part, and "ok" or why it is not. */
const PARTS = { type: 'object', additionalProperties: { type: 'string' } };

const HEALTH = {
  '2xx': { type: 'object', properties: { status: { type: 'string' } } },
  '5xx': { type: 'object', properties: { status: { type: 'string' }, reason: { type: 'string' } } },
};

const READY = {
  '2xx': { type: 'object', properties: { status: { type: 'string' }, parts: PARTS } },
  '5xx': {
    type: 'object',
    properties: { status: { type: 'string' }, reason: { type: 'string' }, parts: PARTS },
  },
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

/** The client has a token for the whole server, or the server has none and listens on this machine only. */
function isTrusted({ exchange, headers }: FastifyRequest): boolean {
  const { access, info } = exchange.server;
  if (access.isOpen) return info.isLocal;
  return headers.authorization !== undefined && seesWholeServer(exchange.store.identity);
}
