// One HTTP request and its response: the checks of HTTP, the response itself, and the error response.
// Guarantee: each response is counted once. A response that cannot be finished is cut, so no client takes it
// for complete.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { AssayError } from '../../core/errors.ts';
import { NAMESPACE_HEADER } from '../../core/namespace.ts';
import { STORE } from '../../store/limits.ts';
import type { Transfer } from '../capacity/min-rate.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../request/metrics.ts';
import { RequestScope } from '../scope.ts';
import { BodyWriter } from './body-writer.ts';
import { CONTENT_ERRORS, type ErrorFormat, errorBody, errorHeaders, type Headers } from './error-response.ts';

export const MISS = new AssayError('ASSAY_NOT_FOUND', 'there is nothing under that address');
const MISS_HEADERS = errorHeaders(MISS, CONTENT_ERRORS);
const MISS_BODY = errorBody(MISS, CONTENT_ERRORS);
const EMPTY_BODY = Buffer.alloc(0);
/** Requests that wait for a lease take long, and say nothing about the server. */
const WATCHING: ReadonlySet<Route> = new Set([
  'page',
  'status',
  'metrics',
  'healthz',
  'readyz',
  'action-leases',
]);

/**
 * Up to this size the body goes to node as a string, with the head in one write: 5 % less CPU for a blob of 4
 * KiB.
 */
const SENT_AS_STRING_BYTES = 8 * 1024;

/** An error that it throws becomes the error response. */
type Handler = (exchange: Exchange) => Promise<void>;

export class Exchange extends RequestScope {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #route: Route;
  readonly #errors: ErrorFormat;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    server: ServerContext,
    route: Route,
    errors: ErrorFormat,
  ) {
    super(server);
    this.request = request;
    this.response = response;
    this.#route = route;
    this.#errors = errors;
  }

  get method(): string {
    return this.request.method ?? '';
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  protected get label(): string {
    return this.#route;
  }

  protected get remoteAddress(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  protected get about() {
    return { method: this.method, route: this.#route };
  }

  /** Checks the request, then lets `handler` answer it. */
  run(handler: Handler): void {
    try {
      this.check();
      handler(this).catch((error: unknown) => this.answerError(error));
    } catch (error) {
      this.answerError(error);
    }
  }

  /**
   * What every request must pass: the server runs, has a free connection, and is the host that the client
   * means.
   */
  check(): void {
    this.checkRunning();
    this.server.capacity.rejectSurplus(this.request.socket);
    const { headers, httpVersion } = this.request;
    if (headers.host === undefined && httpVersion !== '1.0') {
      this.response.shouldKeepAlive = false;
      throw new AssayError('ASSAY_BAD_REQUEST', 'the request has no Host header');
    }
    this.checkHost(headers.host);
  }

  /**
   * Counts the response, and closes the connection after it if the server stops or has few connections left.
   */
  countResponse(status: number): void {
    const { server, response } = this;
    const { tookMs } = this;
    server.metrics.answered(this.#route, this.method, status, tookMs);
    if (!this.#isOfPerson) this.answered(status >= 500, tookMs);
    if (server.lifecycle.isStopping || server.capacity.hasFewConnectionsLeft)
      response.shouldKeepAlive = false;
  }

  /** Somebody looks at the pages, or something watches the server. Figures are about the use of the cache. */
  get #isOfPerson(): boolean {
    const isReading = this.method === 'GET' || this.method === 'HEAD';
    return WATCHING.has(this.#route) || (this.#route === 'api' && isReading);
  }

  /** Sends the head of a response whose body the caller writes. */
  begin(status: number, headers: Headers): void {
    this.countResponse(status);
    const { namespace } = this;
    this.response.writeHead(status, namespace ? [...headers, NAMESPACE_HEADER, namespace] : headers);
  }

  /** Sends a whole response. HEAD gets the length that the body would have. */
  answer(status: number, headers: Headers, body: Buffer): void {
    const isSent = this.method !== 'HEAD';
    if (isSent && body.length > STORE.inlineBytes) this.reserveMemory(body.length);
    this.begin(status, ['content-length', String(body.length), ...headers]);
    if (!isSent) this.end();
    else if (body.length <= SENT_AS_STRING_BYTES) this.end(body.toString('latin1'));
    else if (body.length <= STORE.inlineBytes) this.end(body);
    else this.#sendInPieces(body).catch((error: unknown) => this.answerError(error));
  }

  /** Ends a response. The minimum rate applies while the kernel has not taken all of it. */
  end(last?: Buffer | string): void {
    const { response } = this;
    if (last === undefined) response.end();
    else response.end(last, 'latin1');
    if (response.socket?.writableLength) this.watchClient();
  }

  /** Applies the minimum rate until the response is closed. */
  watchClient(): Transfer {
    const { response, server } = this;
    const transfer = server.minRate.begin(() => response.destroy());
    transfer.startWaiting();
    response.once('close', () => server.minRate.end(transfer));
    return transfer;
  }

  /** A body in slices for a stream that asks for the next one when the client has taken the last one. */
  *slices(body: Buffer): Generator<Buffer, void, void> {
    const transfer = this.watchClient();
    const { maxWriteBytes } = this.server.limits;
    for (let at = 0; at < body.length; at += maxWriteBytes) {
      const slice = body.subarray(at, at + maxWriteBytes);
      yield slice;
      transfer.progress(slice.length);
    }
  }

  async #sendInPieces(body: Buffer): Promise<void> {
    const { response, server } = this;
    const writer = new BodyWriter(response, server.minRate);
    try {
      if (await writer.writeAll(body, server.limits.maxWriteBytes)) this.end();
      else response.destroy();
    } finally {
      writer.close();
    }
  }

  /**
   * Counts the memory of a response body until the client has taken it. Throws if the memory for these is
   * full.
   */
  reserveMemory(bytes: number): void {
    const { response, server } = this;
    server.capacity.addResponseBytes(bytes);
    let isReserved = true;
    const release = () => {
      if (isReserved) server.capacity.removeResponseBytes(bytes);
      isReserved = false;
    };
    response.once('finish', release).once('close', release);
  }

  /** Sends content of the cache and counts its bytes. */
  answerContent(status: number, headers: Headers, content: Buffer): void {
    this.answer(status, headers, content);
    if (this.method !== 'HEAD') this.server.metrics.sent(content.length);
  }

  answerMiss(): void {
    if (this.#errors === CONTENT_ERRORS) this.answer(MISS.entry.status, MISS_HEADERS, MISS_BODY);
    else this.answer(MISS.entry.status, errorHeaders(MISS, this.#errors), errorBody(MISS, this.#errors));
  }

  answerStored(headers: Headers): void {
    this.answer(200, headers, EMPTY_BODY);
  }

  answerUnchanged(headers: Headers): void {
    this.begin(304, headers);
    this.end();
  }

  /**
   * Answers with the error that was thrown. Closes the connection if a response has begun. `status` replaces
   * the error's own, for a tool that fails the build otherwise.
   */
  answerError(thrown: unknown, moreHeaders: Headers = [], status?: number): void {
    const error = this.failed(thrown);
    this.countDenial(error);
    const { headers, body } = this.#describe(error);
    const response = { status: status ?? error.entry.status, headers: [...headers, ...moreHeaders], body };
    if (this.response.headersSent) this.response.destroy();
    else if (isAnsweredBeforeBody(this.request, error)) this.#answerBeforeBody(response);
    else this.answer(response.status, response.headers, response.body);
  }

  /** The page for an error can fail for the reason that the page itself did: then the client gets JSON. */
  #describe(error: AssayError): { headers: Headers; body: Buffer } {
    const as = (format: ErrorFormat) => ({
      headers: errorHeaders(error, format, this.request),
      body: errorBody(error, format, this.request),
    });
    try {
      return as(this.#errors);
    } catch (thrown) {
      this.failed(thrown);
      return as(CONTENT_ERRORS);
    }
  }

  /**
   * Closing a socket with unread bytes resets the connection, and a client that is still sending would lose
   * the response. So the response goes out first, and the rest of the body is read and dropped for
   * SERVER.lingerMs. A client that waits for 100 Continue has sent nothing yet, so the connection closes at
   * once.
   */
  #answerBeforeBody({ status, headers, body }: { status: number; headers: Headers; body: Buffer }): void {
    const { request, response } = this;
    response.shouldKeepAlive = false;
    this.begin(status, ['content-length', String(body.length), ...headers]);
    response.write(body);
    const waitsForContinue = request.headers.expect !== undefined;
    const timer = setTimeout(() => this.end(), waitsForContinue ? 0 : this.server.limits.lingerMs);
    const finish = () => {
      clearTimeout(timer);
      if (!response.writableEnded) this.end();
    };
    request.once('end', finish).once('close', finish).resume();
  }
}

/** node itself reads and drops the small rest of a body. A large rest is not worth its bandwidth. */
function isAnsweredBeforeBody({ complete, headers }: IncomingMessage, { code }: AssayError): boolean {
  if (complete) return false;
  const { expect, 'content-length': length, 'transfer-encoding': encoding } = headers;
  const isLarge = encoding !== undefined || Number(length ?? 0) > STORE.inlineBytes;
  return isLarge || expect !== undefined || code === 'ASSAY_BODY_TIMEOUT';
}
