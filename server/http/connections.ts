// The HTTP/1 server. The port passes connections to it; it never listens itself.
// Guarantee: headers, pipelined requests and idle connections are bounded, and malformed requests get an
// error response.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { SERVER, type ServerLimits } from '../limits.ts';
import { errorBody, PAGE_ERRORS } from './error-response.ts';

export function createHttpServer(limits: ServerLimits, onRequest: RequestListener): Server {
  const listener = oneAtATime(notUpgraded(inOriginForm(onRequest)), limits.maxPipelined);
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.noProgressMs,
      /** Exchange checks it, with an error of the catalogue. */
      requireHostHeader: false,
      /** An upload of 16 GiB may take long. MinRate limits slow bodies and slow readers. */
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.sweepMs,
      /** A request without a body is not made into a stream that must be drained. */
      optimizeEmptyRequests: true,
    },
    listener,
  );
  /** The same listener: it can send an error response before it asks for the body. */
  server.on('checkContinue', listener);
  return server;
}

/**
 * Handles pipelined requests one at a time. node parses all that have arrived and queues their responses, so
 * hundreds of requests in one packet would each hold a chunk of a blob in memory. A request starts when its
 * response gets the socket, which is after the responses before it.
 *
 * `maxWaiting` bounds the queue: a client that sends requests and reads no responses would fill the memory.
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
 * Ignores an offered Upgrade (Java's client offers h2c) and answers in HTTP/1. node reads no further request
 * on such a connection, so the response says that it closes.
 */
function notUpgraded(onRequest: RequestListener): RequestListener {
  return (request, response) => {
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    onRequest(request, response);
  };
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)$/i;

/**
 * A client that uses this server as a proxy names the host in the target, which overrides Host (RFC 9112,
 * 3.2.2).
 */
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
 * Answers a request that could not be parsed. Only a connection without any earlier response gets one: on
 * another, these bytes could become part of a blob.
 */
export function clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  rejectConnection(codeFor(error.code), socket);
  const timer = setTimeout(() => socket.destroy(), SERVER.lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Sends an error response on a connection that has no request yet, and ends it. */
export function rejectConnection(code: AssayError['code'], socket: Socket): void {
  const error = new AssayError(code, 'the connection is closed');
  const body = errorBody(error, PAGE_ERRORS);
  const head = [
    `HTTP/1.1 ${error.entry.status} Refused`,
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
