// gRPC's side of the port: HTTP/2 sessions on sockets that somebody else has accepted.
//
// node:http2 itself, because it costs a third of @grpc/grpc-js for a large upload (docs/decisions/0050). A session has the
// same bounds as an HTTP connection: streams, memory, headers, silence.
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import type { Clock } from '../connection/awake-clock.ts';
import { ConnectionSet, SetMember } from '../connection/connection-set.ts';
import type { ServerContext } from '../context.ts';
import type { ServerLimits } from '../limits.ts';
import { Call } from './call.ts';
import { trackClose } from './in-flight.ts';
import type { Method, Methods } from './method.ts';

const UNSUPPORTED_MEDIA_TYPE = 415;

const NO_SUCH_METHOD: Method = {
  name: 'unknown',
  writes: false,
  answer: () => Promise.reject(new AssayError('ASSAY_NO_SUCH_METHOD', 'this server has no such method')),
};

class Silent extends SetMember {
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
  /** Of those, the ones that have not made a call yet. */
  readonly #silent = new ConnectionSet<Silent>();
  readonly #limits: ServerLimits;
  readonly #clock: Clock;

  constructor(context: ServerContext, methods: Methods) {
    this.#limits = context.limits;
    this.#clock = context.clock;
    this.#server = createServer(http2Options(context.limits));
    this.#server.on('session', (session: ServerHttp2Session) => this.#welcome(session));
    this.#server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', ignore);
      if (!isGrpc(headers)) return refuseOther(stream);
      new Call(stream, headers, context, methods.get(headers[':path'] ?? '') ?? NO_SUCH_METHOD).run();
    });
    /** Broken frames and connections that end: the session is over, and nobody else is concerned. */
    this.#server.on('sessionError', ignore);
  }

  /** The socket's first bytes may have been read and put back. */
  take(socket: Socket): void {
    /** HTTP/1 clients may close their half and still read; HTTP/2 says what it means in frames. */
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  /** No new calls; what is under way goes on. */
  drain(): void {
    for (const session of this.#open) if (!session.closed) session.close();
  }

  /**
   * Closes those who have not made a call within `patienceMs`, of a share of all and the next time of the next. Timers of their own would
   * close all those together who came together; they come back together too, and everybody else waits.
   */
  closeSilent(share: number, timeoutMs: number): void {
    const { now } = this.#clock;
    this.#silent.visitShare(share, ({ session, since }) => {
      if (now - since > timeoutMs) session.destroy();
    });
  }

  #welcome(session: ServerHttp2Session): void {
    const { noProgressMs, idleSessionMs, connectionWindowBytes } = this.#limits;
    const silent = new Silent(session, this.#clock.now);
    this.#open.add(session);
    this.#silent.add(silent);
    session.once('close', () => {
      this.#open.delete(session);
      this.#silent.delete(silent);
    });
    session.on('error', ignore);
    trackClose(session);
    /** Node's default of 64 KiB for all calls together costs an upload twice its processor time (docs/decisions/0050). */
    session.setLocalWindowSize(connectionWindowBytes);
    session.once('stream', () => {
      this.#silent.delete(silent);
      session.setTimeout(idleSessionMs, () => endIdle(session, noProgressMs));
    });
  }
}

/** First politely, so that a call on its way is told to go elsewhere; a client that does not hear it is cut off. */
function endIdle(session: ServerHttp2Session, againMs: number): void {
  if (session.closed) {
    session.destroy();
    return;
  }
  session.close();
  session.setTimeout(againMs);
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

/** Somebody speaks HTTP/2, but not gRPC, which is all that is spoken here over HTTP/2. */
function refuseOther(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
  stream.close();
}

function ignore(): void {}
