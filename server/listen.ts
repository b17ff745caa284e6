// A running server on a store: assembled here, and stopped here.
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { AssayError, isSystemError, messageOf } from '../core/errors.ts';
import { SERVER, type ServerLimits } from '../core/limits.ts';
import type { Store } from '../store/store.ts';
import { openGate, tokenGate } from './auth.ts';
import { isLoopback, urlOf } from './host.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Metrics } from './metrics.ts';
import { Pace } from './pace.ts';
import { assemble } from './routes.ts';
import { type S3Keys, signatureGate } from './wire/s3/signature.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly store: Store;
  readonly storeFolder?: string | undefined;
  readonly token?: string | undefined;
  readonly s3Keys?: S3Keys | undefined;
  readonly readOnly?: boolean;
  readonly limits?: Partial<ServerLimits>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface RunningServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Finishes what is under way, or cuts it. The store is the caller's to close. */
  stop(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, token, s3Keys, readOnly = false, store, storeFolder, log, metrics } = options;
  const isLocal = isLoopback(host);
  if (!isLocal && token === undefined && !readOnly) {
    throw new AssayError('ASSAY_OPEN_NETWORK', `${host} can be reached from other machines`);
  }
  const limits = { ...SERVER, ...options.limits };
  const pace = new Pace(limits);
  const lifecycle = new Lifecycle();
  const about = { storeFolder, isLocal, startedAt: Date.now() };
  const gate = token === undefined ? openGate() : tokenGate(token);
  const signatures = s3Keys && signatureGate(s3Keys);
  const server = await assemble({
    store,
    gate,
    signatures,
    readOnly,
    limits,
    log,
    metrics,
    pace,
    lifecycle,
    about,
  });
  await listen(server, host, port);
  /** A connection that could not be accepted, for want of file descriptors: the others are none the worse. */
  server.on('error', (error) => log.error({ err: error }, 'could not accept a connection'));
  const sweeper = setInterval(() => pace.checkAll(), limits.sweepMs);
  return {
    url: urlOf(server, host),
    async stop() {
      await lifecycle.stop(server, limits);
      clearInterval(sweeper);
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, host, port)));
    server.listen({ host, port }, resolve);
  });
}

function cannotListen(error: Error, host: string, port: number): AssayError {
  const why = isSystemError(error, 'EADDRINUSE') ? 'something listens there already' : messageOf(error);
  return new AssayError('ASSAY_CANNOT_LISTEN', `${host} port ${port}: ${why}`, { cause: error });
}
