// Chooses the code that answers a request: the hot path, or fastify.
//
// The hot path is every URL of a blob, a result or an artifact. It goes around fastify, because a router that
// decodes and matches costs 8 % of a small hit (docs/MEASUREMENTS.md#0020), and because a key must be taken
// as it was sent, not decoded. fastify answers the rest: the pages, the JSON APIs and unknown URLs
// (http/app.ts).
import type { RequestListener, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { apiUrl, findMount, JSON_APIS } from './adapters.ts';
import type { ServerContext } from './context.ts';
import { createApp } from './http/app.ts';
import { createHttpServer } from './http/connections.ts';
import { Exchange } from './http/exchange.ts';
import { frontPageRoute, pages } from './pages/pages.ts';
import { tokenExchange } from './protocols/auth/api.ts';
import { bazelHttp } from './protocols/bazel-http/adapter.ts';
import { resumable } from './protocols/resumable/adapter.ts';
import { targetBelow } from './protocols/shared/adapter.ts';
import type { ServerPart } from './server-port.ts';

/** The protocols whose URLs may have any prefix, in the order in which they are tried. */
export const WITH_ANY_PREFIX = { 'bazel-http': bazelHttp, resumable } as const;

/** An HTTP server that does not listen yet. */
export async function assemble(context: ServerContext, wings: readonly ServerPart[]): Promise<Server> {
  const htmlErrors = wings.find((wing) => wing.htmlErrors)?.htmlErrors;
  const app = createApp(
    context,
    (fastify) => createHttpServer(context.limits, hotPathFirst(context, fastify)),
    { route: 'other', acceptsSession: true, ...(htmlErrors && { htmlErrors }) },
  );
  await addRoutes(app, wings);
  await app.ready();
  return app.server;
}

/** All routes of fastify. */
export async function addRoutes(app: FastifyInstance, wings: readonly ServerPart[]): Promise<void> {
  for (const wing of wings) await app.register(wing.routes);
  if (!app.hasRoute({ method: 'GET', url: '/' })) app.register(frontPageRoute);
  app.register(pages);
  app.register(tokenExchange);
  for (const api of JSON_APIS) app.register(api.plugin);
}

const ANY_PREFIX = Object.values(WITH_ANY_PREFIX);

function hotPathFirst(context: ServerContext, fastify: RequestListener): RequestListener {
  return (request, response) => {
    const { url = '', method } = request;
    const { adapter, api, baseLength = 0 } = findMount(request) ?? {};
    const route = api && method !== 'OPTIONS' ? apiUrl(api, url) : undefined;
    if (route !== undefined) {
      request.url = route;
      fastify(request, response);
    } else if (adapter) {
      const exchange = new Exchange(request, response, context, adapter.protocol, adapter.errors);
      exchange.run(() => adapter.answer(exchange, targetBelow(baseLength, url)));
    } else if (!ANY_PREFIX.some((isAnswering) => isAnswering(request, response, context))) {
      fastify(request, response);
    }
  };
}
