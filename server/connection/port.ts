// The one port of the server, with or without TLS. It passes each connection to HTTP/1 or to gRPC.
// Guarantee: every open connection is in #connections until its socket closes, so a stop can close all of
// them.
import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import type { Clock } from '../capacity/awake-clock.ts';
import type { Capacity } from '../capacity/capacity.ts';
import { ConnectionSet, SetMember } from '../capacity/connection-set.ts';
import type { MinRate } from '../capacity/min-rate.ts';
import type { ServerContext } from '../context.ts';
import type { Sessions } from '../grpc/sessions.ts';
import type { ServerLimits } from '../limits.ts';
import { ProtocolSniffer } from './protocol-sniffer.ts';
import type { TlsIdentity } from './tls.ts';

/** HTTP/1 first: browsers and curl offer both and want pages or files. gRPC clients offer h2 alone. */
const ALPN = ['http/1.1', 'h2'];

class Connection extends SetMember {
  readonly socket: Socket;
  readonly since: number;

  constructor(socket: Socket, since: number) {
    super();
    this.socket = socket;
    this.since = since;
  }
}

export class Port {
  readonly server: Server;
  readonly #secured: TlsServer | undefined;
  readonly #http: HttpServer;
  readonly #grpc: Sessions;
  readonly #limits: ServerLimits;
  readonly #capacity: Capacity;
  readonly #minRate: MinRate;
  readonly #clock: Clock;
  #handshakesCheckedAt = 0;
  readonly #connections = new ConnectionSet<Connection>();
  /** The TLS sockets of those connections whose handshake is done. */
  readonly #secureConnections = new ConnectionSet<Connection>();
  readonly #sniffer: ProtocolSniffer;

  constructor(
    http: HttpServer,
    grpc: Sessions,
    { limits, capacity, minRate, clock }: Pick<ServerContext, 'limits' | 'capacity' | 'minRate' | 'clock'>,
    tls: TlsIdentity | undefined,
  ) {
    this.#http = http;
    this.#grpc = grpc;
    this.#limits = limits;
    this.#capacity = capacity;
    this.#minRate = minRate;
    this.#clock = clock;
    this.#sniffer = new ProtocolSniffer(limits, clock);
    this.#secured = tls && this.#secure(tls);
    this.server = this.#secured ?? createServer({ allowHalfOpen: true, noDelay: true });
    this.server.maxConnections = capacity.maxConnections + limits.surplusConnections;
    this.server.on('connection', (socket: Socket) => {
      capacity.addConnection(socket);
      track(socket, this.#connections, clock.now);
    });
    this.#secured?.on('secureConnection', (socket) => track(socket, this.#secureConnections, clock.now));
    this.server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#sniff(socket));
    /** node:http checks for slow headers only after this event, and this server never listens by itself. */
    http.emit('listening');
  }

  #secure(tls: TlsIdentity): TlsServer {
    const server = createTlsServer({
      ...tls,
      ALPNProtocols: ALPN,
      handshakeTimeout: this.#limits.noProgressMs,
      noDelay: true,
    });
    /** Not TLS, or a client certificate that the server does not trust. */
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  }

  /** Takes effect for new handshakes. Open connections stay. */
  setTlsIdentity(tls: TlsIdentity): void {
    this.#secured?.setSecureContext(tls);
  }

  /** The periodic sweep of the connections. */
  closeSlow(): void {
    const { timeoutMs } = this.#minRate;
    this.#sniffer.check(timeoutMs);
    this.#grpc.closeSilent(timeoutMs);
    if (this.#secured && this.#capacity.isUnderPressure) this.#closeSlowHandshakes(timeoutMs);
  }

  /** Only under pressure. Without it, node:tls enforces `handshakeTimeout` itself. */
  #closeSlowHandshakes(timeoutMs: number): void {
    const { now } = this.#clock;
    if (now - this.#handshakesCheckedAt < timeoutMs / 2) return;
    this.#handshakesCheckedAt = now;
    this.#closeHandshakes(now - timeoutMs);
  }

  /** A stop calls this repeatedly: connections become idle one after the other. */
  closeIdle(): void {
    if (this.#secured) this.#closeHandshakes(this.#clock.now);
    this.#sniffer.closeAll();
    this.#http.closeIdleConnections();
    this.#grpc.drain();
  }

  closeAll(): void {
    this.#connections.visitAll(({ socket }) => socket.destroy());
  }

  /** Accepts no more connections. Resolves when the last one is closed. */
  close(): Promise<void> {
    this.#http.close();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /**
   * Closes connections whose TLS handshake is not done. node:tls does not say which plain socket a TLS socket
   * wraps, so the remote address and port identify it.
   */
  #closeHandshakes(connectedBefore: number): void {
    const secure = new Set<string>();
    this.#secureConnections.visitAll(({ socket }) => secure.add(remoteOf(socket)));
    this.#connections.visitAll(({ socket, since }) => {
      if (since <= connectedBefore && !secure.has(remoteOf(socket))) socket.destroy();
    });
  }

  #sniff(socket: Socket): void {
    this.#capacity.markSurplus(socket);
    socket.on('error', ignore);
    this.#sniffer.await(socket, (protocol) => {
      if (protocol === 'HTTP/2') this.#passToGrpc(socket);
      else this.#http.emit('connection', socket);
    });
  }

  /**
   * A gRPC client reports a connection that closes before its first response as UNAVAILABLE, which is the
   * right status.
   */
  #passToGrpc(socket: Socket): void {
    if (this.#capacity.isSurplus(socket)) socket.destroy();
    else this.#grpc.take(socket);
  }
}

function track(socket: Socket, set: ConnectionSet<Connection>, now: number): void {
  const connection = new Connection(socket, now);
  set.add(connection);
  socket.on('error', ignore).once('close', () => set.delete(connection));
}

function remoteOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function ignore(): void {}
