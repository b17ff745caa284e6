// Which code answers a request: the hot path, or fastify.
//
// The hot path is every URL of a blob, a result or an artifact. It goes around fastify, because a router that decodes and
// matches costs 8 % of a small hit (docs/MEASUREMENTS.md#0020), and because a key must be taken as it was sent, not decoded.
// fastify answers the rest: the pages, the JSON APIs and unknown URLs (http/app.ts).
import type { RequestListener, Server } from 'node:http';
import { apiUrl, findMount, JSON_APIS } from './adapters.ts';
import type { ServerContext } from './context.ts';
import { createApp } from './http/app.ts';
import { createHttpServer } from './http/connections.ts';
import { Exchange } from './http/exchange.ts';
import { pages } from './pages/pages.ts';
import { bazelHttp } from './protocols/bazel-http/adapter.ts';
import { resumable } from './protocols/resumable/adapter.ts';
import { targetBelow } from './protocols/shared/adapter.ts';

/** An HTTP server that does not listen yet. */
export async function assemble(context: ServerContext): Promise<Server> {
  const app = createApp(context, (fastify) =>
    createHttpServer(context.limits, hotPathFirst(context, fastify)),
  );
  app.register(pages);
  for (const api of JSON_APIS) app.register(api.plugin);
  await app.ready();
  return app.server;
}

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
    } else if (!bazelHttp(request, response, context) && !resumable(request, response, context)) {
      fastify(request, response);
    }
  };
}
