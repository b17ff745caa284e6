// HTTP/2 sessions for gRPC, on sockets that the port has accepted.
// Guarantee: each session has limits for its streams, memory, headers and idle time.
//
// It uses node:http2, which costs a third of @grpc/grpc-js for a large upload (docs/decisions/0050).
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { NOTHING_MORE } from '../access/rights.ts';
import type { Clock } from '../capacity/awake-clock.ts';
import { ConnectionSet, SetMember } from '../capacity/connection-set.ts';
import type { ServerContext } from '../context.ts';
import type { ServerLimits } from '../limits.ts';
import { Call } from './call.ts';
import { trackClose } from './in-flight.ts';
import type { Method, Methods } from './method.ts';

const UNSUPPORTED_MEDIA_TYPE = 415;

const NO_SUCH_METHOD: Method = {
  name: 'unknown',
  needs: NOTHING_MORE,
  answer: () => Promise.reject(new AssayError('ASSAY_NO_SUCH_METHOD', 'this server has no such method')),
};

/** A session that has not made a call. */
class SilentSession extends SetMember {
  readonly session: ServerHttp2Session;
  readonly since: number;

  constructor(session: ServerHttp2Session, since: number) {
    super();
    this.session = session;
    this.since = since;
  }
}

export class Sessions {
  readonly #server: Http2Server;
  readonly #open = new Set<ServerHttp2Session>();
  readonly #silent = new ConnectionSet<SilentSession>();
  readonly #limits: ServerLimits;
  readonly #clock: Clock;

  constructor(context: ServerContext, methods: Methods) {
    this.#limits = context.limits;
    this.#clock = context.clock;
    this.#server = createServer(http2Options(context.limits));
    this.#server.on('session', (session: ServerHttp2Session) => this.#add(session));
    this.#server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', ignore);
      if (!isGrpc(headers)) return refuseOther(stream);
      new Call(stream, headers, context, methods.get(headers[':path'] ?? '') ?? NO_SUCH_METHOD).run();
    });
    // A broken frame or connection ends only its own session.
    this.#server.on('sessionError', ignore);
  }

  /** Starts a session. The protocol sniffer may have read the first bytes and put them back. */
  take(socket: Socket): void {
    // Only HTTP/1 clients may close their half and still read. HTTP/2 ends a stream by a frame.
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  /** Accepts no new calls. Calls in flight continue. */
  drain(): void {
    for (const session of this.#open) if (!session.closed) session.close();
  }

  /** Closes the sessions that made no call within `timeoutMs`. */
  closeSilent(timeoutMs: number): void {
    const { now } = this.#clock;
    this.#silent.visitAll(({ session, since }) => {
      if (now - since > timeoutMs) session.destroy();
    });
  }

  #add(session: ServerHttp2Session): void {
    const { noProgressMs, idleSessionMs, connectionWindowBytes } = this.#limits;
    const silent = new SilentSession(session, this.#clock.now);
    this.#open.add(session);
    this.#silent.add(silent);
    session.once('close', () => {
      this.#open.delete(session);
      this.#silent.delete(silent);
    });
    session.on('error', ignore);
    trackClose(session);
    // Node's default is 64 KiB for all calls together. It doubles the CPU time of an upload
    // (docs/decisions/0050).
    session.setLocalWindowSize(connectionWindowBytes);
    session.once('stream', () => {
      this.#silent.delete(silent);
      session.setTimeout(idleSessionMs, () => endIdle(session, noProgressMs));
    });
  }
}

/**
 * Sends GOAWAY first, so that the client retries a new call elsewhere. After `cutAfterMs` more, cuts the
 * session.
 */
function endIdle(session: ServerHttp2Session, cutAfterMs: number): void {
  if (session.closed) {
    session.destroy();
    return;
  }
  session.close();
  session.setTimeout(cutAfterMs);
}

function http2Options(limits: ServerLimits) {
  return {
    settings: {
      initialWindowSize: limits.uploadBufferBytes,
      maxFrameSize: limits.maxFrameBytes,
      maxConcurrentStreams: limits.maxStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxSessionMemory: limits.sessionMegabytes,
    maxOutstandingPings: limits.maxStreams,
  };
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers[':method'] === 'POST' && headers['content-type']?.startsWith('application/grpc') === true;
}

/** Over HTTP/2, this server speaks only gRPC. */
function refuseOther(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
  stream.close();
}

function ignore(): void {}
