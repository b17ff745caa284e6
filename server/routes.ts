// Which address is answered by what.
//
// Addresses of content are taken from the URL as it stands, before fastify sees them: a router decodes and matches, which
// costs 8 % of a small hit and is the wrong thing to do to a name (docs/MEASUREMENTS.md#0020).
// Everything else is fastify's to find, and is answered through the same Exchange, before fastify looks at a body.
import type { RequestListener, Server } from 'node:http';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { adapted } from './adapters.ts';
import type { ServerContext } from './context.ts';
import { createHttpServer, refuseMalformed } from './http/connections.ts';
import { PAGE_ERRORS } from './http/error-response.ts';
import { type Answering, Exchange } from './http/exchange.ts';
import { frontPage } from './pages/front-page.ts';
import type { Route } from './pages/metrics.ts';
import { healthz, metricsPage, nothingHere, status } from './pages/status.ts';
import { bazelHttp } from './protocols/bazel-http/adapter.ts';
import { resumable } from './protocols/resumable/adapter.ts';

type Door = (request: FastifyRequest, reply: FastifyReply) => void;

/** A server that answers, and does not listen yet. */
export async function assemble(context: ServerContext): Promise<Server> {
  const doorTo = (answering: Answering, route: Route): Door => {
    return (request, reply) => {
      reply.hijack();
      new Exchange(request.raw, reply.raw, context, route, PAGE_ERRORS).run(answering);
    };
  };
  const nowhere = doorTo(nothingHere, 'other');
  const app = fastify({
    serverFactory: (others) => createHttpServer(context.limits, contentFirst(context, others)),
    clientErrorHandler: refuseMalformed,
    frameworkErrors: (_error, request, reply) => nowhere(request, reply),
  });
  const route = (url: string, door: Door) => app.all(url, { onRequest: door }, door);
  route('/', doorTo(frontPage, 'other'));
  route('/healthz', doorTo(healthz, 'healthz'));
  route('/metrics', doorTo(metricsPage, 'metrics'));
  route('/status', doorTo(status, 'status'));
  route('/*', nowhere);
  app.setNotFoundHandler(nowhere);
  await app.ready();
  return app.server;
}

function contentFirst(context: ServerContext, others: RequestListener): RequestListener {
  return (request, response) => {
    if (adapted(request, response, context) || bazelHttp(request, response, context)) return;
    if (resumable(request, response, context)) return;
    others(request, response);
  };
}
