// HTTP/1's side of the port, and what it puts up with before there is a request: how large and how slow a header, how long
// a silence, and what is not HTTP at all. The port gives it its connections.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { SERVER, type ServerLimits } from '../limits.ts';
import { errorBody, PAGE_ERRORS } from './error-response.ts';

export function createHttpServer(limits: ServerLimits, onRequest: RequestListener): Server {
  const onTurn = oneAtATime(notUpgraded(inOriginForm(onRequest)), limits.maxPipelined);
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.noProgressMs,
      /** Exchange says so in words. */
      requireHostHeader: false,
      /** A 16 GiB upload takes as long as it takes: Pace looks after bodies, and answers that are not taken. */
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.sweepMs,
      /** A request without a body has ended before it is looked at, and is no stream that has to be run dry. */
      optimizeEmptyRequests: true,
    },
    onTurn,
  );
  /** The same door: who may not come in, or sends too much, is told before the body is asked for. */
  server.on('checkContinue', onTurn);
  return server;
}

/**
 * A client may send the next request before it has the answer to the last; node then parses them all and holds their
 * answers back. Each would have a chunk of its blob in memory, for hundreds of requests in one packet: so a request is
 * looked at when the answers before it have gone, which is when its response gets the socket.
 *
 * Nothing else bounds how many wait for that: who sends requests and reads no answers would fill the memory.
 */
function oneAtATime(onRequest: RequestListener, maxWaiting: number): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  const waitingOn = (socket: Socket) => waiting.get(socket) ?? 0;
  return (request, response) => {
    if (response.socket) {
      onRequest(request, response);
      return;
    }
    const { socket } = request;
    if (waitingOn(socket) === maxWaiting) {
      socket.destroy();
      return;
    }
    waiting.set(socket, waitingOn(socket) + 1);
    response.once('socket', () => {
      waiting.set(socket, waitingOn(socket) - 1);
      onRequest(request, response);
    });
  };
}

/**
 * A client may offer another protocol with a request (Java's does, h2c), and is answered in this one. But node reads no
 * further request on that connection: so it is the last, and the client is told.
 */
function notUpgraded(onRequest: RequestListener): RequestListener {
  return (request, response) => {
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    onRequest(request, response);
  };
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)$/i;

/** A client that takes this server for a proxy names the host in the target. That counts, whatever Host says (RFC 9112, 3.2.2). */
function inOriginForm(onRequest: RequestListener): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    const [, host, path] = url.startsWith('/') ? [] : (ABSOLUTE_FORM.exec(url) ?? []);
    if (host !== undefined && path !== undefined) {
      request.url = path.startsWith('/') ? path : `/${path}`;
      request.headers.host = host;
    }
    onRequest(request, response);
  };
}

/**
 * What could not be parsed. Only a connection that never got an answer is told: on any other these bytes could land in
 * the middle of a blob and be taken for part of it.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  refuseBeforeRequest(codeFor(error.code), socket);
  const timer = setTimeout(() => socket.destroy(), SERVER.lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** To a connection that has not been sent anything. */
export function refuseBeforeRequest(code: AssayError['code'], socket: Socket): void {
  const refusal = new AssayError(code, 'the connection is closed');
  const body = errorBody(refusal, PAGE_ERRORS);
  const head = [
    `HTTP/1.1 ${refusal.entry.status} Refused`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function codeFor(code: string | undefined): AssayError['code'] {
  if (code === 'HPE_HEADER_OVERFLOW') return 'ASSAY_HEADER_TOO_LARGE';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'ASSAY_HEADER_TIMEOUT' : 'ASSAY_BAD_REQUEST';
}
