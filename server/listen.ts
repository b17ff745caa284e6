// Starts and stops a server on a store.

import type { Server } from 'node:net';
import type { Logger } from 'pino';
import { AssayError, isSystemError, messageOf } from '../core/errors.ts';
import type { AccountUse } from '../store/accounts.ts';
import type { WriteLog } from '../store/log/write-log.ts';
import { isLoopback } from '../store/shared/loopback.ts';
import type { Store } from '../store/store.ts';
import { descriptorLimit } from '../system/process/descriptors.ts';
import { accessControl } from './access/access-control.ts';
import type { AuthKey } from './access/auth-key.ts';
import { type S3Keys, signatureCheck } from './access/aws-signature.ts';
import type { TokenExchange } from './access/identities.ts';
import type { IdentitySource } from './access/identity.ts';
import { BrowserSessions } from './access/web/browser-session.ts';
import { endedSessions } from './access/web/ended-sessions.ts';
import { anyHost, ownHostsOnly } from './access/web/host-check.ts';
import { sameOriginOnly, sameOriginUnlessCredential } from './access/web/same-origin.ts';
import { AwakeClock, type Clock } from './capacity/awake-clock.ts';
import { Capacity } from './capacity/capacity.ts';
import { MinRate } from './capacity/min-rate.ts';
import { Port } from './connection/port.ts';
import type { TlsIdentity } from './connection/tls.ts';
import type { Methods } from './grpc/method.ts';
import { Sessions } from './grpc/sessions.ts';
import { urlOf } from './http/host.ts';
import { Lifecycle } from './lifecycle.ts';
import { SERVER, type ServerLimits } from './limits.ts';
import { assetMethods } from './protocols/asset/adapter.ts';
import { pathSetMethods } from './protocols/path-sets/methods.ts';
import { reapiMethods } from './protocols/reapi/adapter.ts';
import { Accounting } from './request/accounting.ts';
import type { Metrics } from './request/metrics.ts';
import { assemble } from './routes.ts';
import type { ServerPart } from './server-port.ts';

/** Every method of gRPC that a server with these wings has. */
export function grpcMethods(wings: readonly ServerPart[]): Methods {
  const ofWings = wings.flatMap(({ calls }) => [...(calls ?? [])]);
  return new Map([...reapiMethods, ...assetMethods, ...pathSetMethods, ...ofWings]);
}

interface ServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly store: Store;
  readonly storeFolder?: string | undefined;
  /** How much the store has, and may have. */
  readonly space?: { used(): number; readonly limit: number } | undefined;
  /** Where documents and small blobs lie. Infinite by default. */
  readonly indexLimit?: (() => number) | undefined;
  readonly accounts?: readonly AccountUse[] | undefined;
  readonly writeLog?: WriteLog | undefined;
  /** The server's own token, which has all rights. */
  readonly token?: string | undefined;
  readonly identities?: IdentitySource | undefined;
  /** Gives short tokens, which `identities` knows. */
  readonly tokenExchange?: TokenExchange | undefined;
  /** Servers with the same one share their logins. By default, a restart ends all logins. */
  readonly sessionSecret?: AuthKey | undefined;
  readonly s3Keys?: S3Keys | undefined;
  readonly readOnly?: boolean;
  readonly tls?: TlsIdentity | undefined;
  readonly limits?: Partial<ServerLimits>;
  readonly clock?: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** What wings add to it. */
  readonly wings?: readonly ServerPart[];
}

export interface RunningServer {
  /** Without a trailing slash. */
  readonly url: string;
  /** New connections get this certificate. */
  setTlsIdentity(tls: TlsIdentity): void;
  /** Finishes or cuts requests in flight. The caller closes the store. */
  stop(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, token, identities, s3Keys, readOnly = false, tls, store, log, metrics } = options;
  const { wings = [] } = options;
  const isLocal = isLoopback(host);
  const isMutual = tls?.requestCert === true;
  const access = accessControl({ token, identities });
  if (!isLocal && access.isOpen && !readOnly && !isMutual) {
    throw new AssayError('ASSAY_OPEN_NETWORK', `${host} can be reached from other machines`);
  }
  const limits = { ...SERVER, ...options.limits };
  const clock = options.clock ?? new AwakeClock(limits);
  const capacity = new Capacity(limits, descriptorLimit());
  const minRate = new MinRate(limits, clock, capacity);
  const lifecycle = new Lifecycle();
  const { storeFolder, space, accounts = [], indexLimit = () => Number.POSITIVE_INFINITY } = options;
  const info = { storeFolder, isLocal, startedAt: Date.now(), space, indexLimit, accounts };
  const signatures = signatureCheck(access, s3Keys);
  // With TLS, the browser has checked that the certificate is valid for the name.
  const checkHost = isLocal && access.isOpen && !readOnly && !tls ? ownHostsOnly() : anyHost;
  const checkOrigin = access.isOpen ? sameOriginOnly : sameOriginUnlessCredential;
  const accounting = new Accounting({
    metrics,
    onTrouble: (error) => log.error({ err: error }, 'requests could not be counted'),
  });
  const context = {
    wholeStore: store,
    writeLog: observed(options.writeLog, accounting),
    accounting,
    access,
    tokenExchange: options.tokenExchange,
    browserSessions: new BrowserSessions(
      access,
      options.sessionSecret,
      endedSessions(store.history, readOnly),
    ),
    signatures,
    checkHost,
    checkOrigin,
    readOnly,
    takesReports: wings.some(({ takesReports }) => takesReports),
    limits,
    log,
    metrics,
    clock,
    minRate,
    capacity,
    lifecycle,
    info,
  };
  for (const wing of wings) if (wing.observe) accounting.addObserver(wing.observe(context));
  const app = await assemble(context, wings);
  const listener = new Port(app, new Sessions(context, grpcMethods(wings)), context, tls);
  await listen(listener.server, host, port);
  // Without free file descriptors, accepting a connection fails. Open connections continue.
  listener.server.on('error', (error) => log.error({ err: error }, 'could not accept a connection'));
  accounting.start();
  const sweeping = setInterval(() => {
    clock.tick();
    minRate.check();
    listener.closeSlow();
  }, limits.sweepMs);
  return {
    url: urlOf(listener.server, host, tls ? 'https' : 'http'),
    setTlsIdentity: (identity) => listener.setTlsIdentity(identity),
    async stop() {
      await lifecycle.stop(listener, limits, store.parts ? limits.noticeMs : 0);
      clearInterval(sweeping);
      await accounting.close();
    },
  };
}

/** The same log, of which observers learn. */
function observed(log: WriteLog | undefined, accounting: Accounting): WriteLog {
  return {
    add(entry) {
      log?.add(entry);
      accounting.wrote(entry);
    },
    close: async () => log?.close(),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, host, port)));
    server.listen({ host, port, backlog: SERVER.maxConnections }, resolve);
  });
}

function cannotListen(error: Error, host: string, port: number): AssayError {
  const why = isSystemError(error, 'EADDRINUSE') ? 'something listens there already' : messageOf(error);
  return new AssayError('ASSAY_CANNOT_LISTEN', `${host} port ${port}: ${why}`, { cause: error });
}
