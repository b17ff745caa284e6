// The one port: every connection says by its first bytes whether it speaks HTTP/1 or gRPC, in the clear or inside TLS, and
// goes to the one or the other.
import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import type { Capacity } from '../capacity/capacity.ts';
import type { ServerContext } from '../context.ts';
import type { Sessions } from '../grpc/sessions.ts';
import type { ServerLimits } from '../limits.ts';
import type { Clock } from './awake-clock.ts';
import { ConnectionSet, SetMember } from './connection-set.ts';
import type { MinRate } from './min-rate.ts';
import { ProtocolSniffer } from './protocol-sniffer.ts';
import type { TlsIdentity } from './tls.ts';

/**
 * HTTP/1 first: clients that offer both, such as browsers and curl, want pages and files; gRPC clients offer h2 alone.
 */
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
  #unsecuredCheckedAt = 0;
  readonly #connections = new ConnectionSet<Connection>();
  /** The same connections again, once their handshake is done. */
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
      remember(socket, this.#connections, clock.now);
    });
    this.#secured?.on('secureConnection', (socket) => remember(socket, this.#secureConnections, clock.now));
    this.server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#listen(socket));
    /** It does not listen itself, and looks after slow headers only when it thinks that it does. */
    http.emit('listening');
  }

  #secure(tls: TlsIdentity): TlsServer {
    const server = createTlsServer({
      ...tls,
      ALPNProtocols: ALPN,
      handshakeTimeout: this.#limits.noProgressMs,
      noDelay: true,
    });
    /** What is no TLS, or no client that the server trusts. */
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  }

  /** For handshakes from here on; who is connected stays so. */
  setTlsIdentity(tls: TlsIdentity): void {
    this.#secured?.setSecureContext(tls);
  }

  /** Called again and again while the server runs, each time for the next share of all. */
  closeSlow(share: number): void {
    const { timeoutMs } = this.#minRate;
    this.#sniffer.check(share, timeoutMs);
    this.#grpc.closeSilent(share, timeoutMs);
    if (this.#secured && this.#capacity.isUnderPressure) this.#closeSlowHandshakes(timeoutMs);
  }

  /** Only under pressure: TLS itself has a timer for the time that they have otherwise. */
  #closeSlowHandshakes(timeoutMs: number): void {
    const { now } = this.#clock;
    if (now - this.#unsecuredCheckedAt < timeoutMs / 2) return;
    this.#unsecuredCheckedAt = now;
    this.#closeUnsecured(now - timeoutMs);
  }

  /** Called again and again during a stop: connections become idle one after the other. */
  closeIdle(): void {
    if (this.#secured) this.#closeUnsecured(this.#clock.now);
    this.#sniffer.closeAll();
    this.#http.closeIdleConnections();
    this.#grpc.drain();
  }

  closeAll(): void {
    this.#connections.visitAll(({ socket }) => socket.destroy());
  }

  /** Takes no more connections; resolves when the last one is gone. */
  close(): Promise<void> {
    this.#http.close();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** Whose handshake is not done: nothing tells which secure socket goes with which plain one but where they come from. */
  #closeUnsecured(connectedUntil: number): void {
    const secure = new Set<string>();
    this.#secureConnections.visitAll(({ socket }) => secure.add(originOf(socket)));
    this.#connections.visitAll(({ socket, since }) => {
      if (since <= connectedUntil && !secure.has(originOf(socket))) socket.destroy();
    });
  }

  #listen(socket: Socket): void {
    this.#capacity.markSurplus(socket);
    socket.on('error', ignore);
    this.#sniffer.await(socket, (protocol) => {
      if (protocol === 'HTTP/2') this.#takeGrpc(socket);
      else this.#http.emit('connection', socket);
    });
  }

  /** A connection that ends before its first answer is UNAVAILABLE to a gRPC client, which is what there is to say. */
  #takeGrpc(socket: Socket): void {
    if (this.#capacity.isSurplus(socket)) socket.destroy();
    else this.#grpc.take(socket);
  }
}

function remember(socket: Socket, set: ConnectionSet<Connection>, now: number): void {
  const connection = new Connection(socket, now);
  set.add(connection);
  socket.on('error', ignore).once('close', () => set.delete(connection));
}

function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function ignore(): void {}
