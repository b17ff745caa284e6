// The port of a server: what a wing adds to it. It is one field of the wing's record (core/cli/wing.ts).
// Guarantee: a server without wings serves every protocol, its metrics and its health.
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from './context.ts';
import type { Methods } from './grpc/method.ts';
import type { ErrorFormat } from './http/error-response.ts';
import type { Observer } from './request/observer.ts';

export interface ServerPort {
  /** Only `assay serve` loads it. */
  readonly server: () => Promise<ServerPart>;
}

export interface ServerPart {
  /** A plugin of fastify. If it has GET /, that replaces the server's own. */
  routes(app: FastifyInstance): Promise<void>;
  /** Methods of gRPC. */
  readonly calls?: Methods;
  /** Makes the observer of a server, before its first request. */
  observe?(server: ServerContext): Observer;
  /** How a browser shows the error at an address that does not exist. */
  readonly htmlErrors?: ErrorFormat;
  /** It has POST RUNS_PATH (core/metadata/run-report.ts), and answers announce it to clients. */
  readonly takesReports?: boolean;
}
