// One request and its answer. Every answer of the server is given here, so that each is counted once and one that can't be
// finished is cut off where no client can take it for whole.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../pages/metrics.ts';
import { BodyWriter } from './body-writer.ts';
import { CONTENT_ERRORS, type ErrorFormat, errorBody, errorHeaders, type Headers } from './error-response.ts';

const MISS = new AssayError('ASSAY_NOT_FOUND', 'there is nothing under that address');
const MISS_HEADERS = errorHeaders(MISS, CONTENT_ERRORS);
const MISS_BODY = errorBody(MISS, CONTENT_ERRORS);
const EMPTY_BODY = Buffer.alloc(0);

/** Up to here node sends head and body in one call when the body is a string: 5 % less for a blob of 4 KiB. */
const SENT_AS_STRING_BYTES = 8 * 1024;

/** May refuse by throwing or by rejecting. */
export type Answering = (exchange: Exchange) => Promise<void>;

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly server: ServerContext;
  readonly #route: Route;
  readonly #form: ErrorFormat;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    server: ServerContext,
    route: Route,
    form: ErrorFormat,
  ) {
    this.request = request;
    this.response = response;
    this.server = server;
    this.#route = route;
    this.#form = form;
  }

  get method(): string {
    return this.request.method ?? '';
  }

  /** Whatever goes wrong in `answering` becomes a refusal. */
  run(answering: Answering): void {
    try {
      if (this.server.lifecycle.isStopping) throw new AssayError('ASSAY_SHUTTING_DOWN', 'try again later');
      this.server.capacity.rejectSurplus(this.request.socket);
      this.#checkHost();
      answering(this).catch((error: unknown) => this.answerError(error));
    } catch (error) {
      this.answerError(error);
    }
  }

  #checkHost(): void {
    const { headers, httpVersion } = this.request;
    if (headers.host === undefined && httpVersion !== '1.0') {
      this.response.shouldKeepAlive = false;
      throw new AssayError('ASSAY_BAD_REQUEST', 'the request has no Host header');
    }
    this.server.checkHost(headers.host);
    this.server.checkOrigin(headers, headers.host);
  }

  authorize(): void {
    if (!this.server.tokenCheck.accepts(this.request.headers.authorization)) {
      throw new AssayError('ASSAY_UNAUTHORIZED', 'this server asks for a token');
    }
  }

  authorizeWrite(): void {
    if (this.server.readOnly) throw new AssayError('ASSAY_READ_ONLY', 'this server is read-only');
  }

  /** The head of an answer whose body the caller writes. */
  begin(status: number, headers: Headers): void {
    const { server, response } = this;
    server.metrics.answered(this.#route, this.method, status);
    if (server.lifecycle.isStopping || server.capacity.hasFewConnectionsLeft)
      response.shouldKeepAlive = false;
    response.writeHead(status, headers);
  }

  /** A whole answer. HEAD gets its head, with the length that the body would have. */
  answer(status: number, headers: Headers, body: Buffer): void {
    const isSent = this.method !== 'HEAD';
    if (isSent && body.length > STORE.inlineBytes) this.#lend(body.length);
    this.begin(status, ['content-length', String(body.length), ...headers]);
    if (!isSent) this.end();
    else if (body.length <= SENT_AS_STRING_BYTES) this.end(body.toString('latin1'));
    else if (body.length <= STORE.inlineBytes) this.end(body);
    else this.#sendInPieces(body).catch((error: unknown) => this.answerError(error));
  }

  /** The end of an answer. A client that does not read may keep it from leaving, for as long as it may with a body. */
  end(last?: Buffer | string): void {
    const { response, server } = this;
    if (last === undefined) response.end();
    else response.end(last, 'latin1');
    if (!response.socket?.writableLength) return;
    const transfer = server.minRate.begin(() => response.destroy());
    transfer.startWaiting();
    response.once('close', () => server.minRate.end(transfer));
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

  /** Until it has been taken. */
  #lend(bytes: number): void {
    const { response, server } = this;
    server.capacity.addResponseBytes(bytes);
    let isLent = true;
    const giveBack = () => {
      if (isLent) server.capacity.removeResponseBytes(bytes);
      isLent = false;
    };
    response.once('finish', giveBack).once('close', giveBack);
  }

  /** The same for what the cache holds, which is counted. */
  answerContent(status: number, headers: Headers, content: Buffer): void {
    this.answer(status, headers, content);
    if (this.method !== 'HEAD') this.server.metrics.sent(content.length);
  }

  answerMiss(): void {
    if (this.#form === CONTENT_ERRORS) this.answer(MISS.entry.status, MISS_HEADERS, MISS_BODY);
    else this.answer(MISS.entry.status, errorHeaders(MISS, this.#form), errorBody(MISS, this.#form));
  }

  answerStored(headers: Headers): void {
    this.answer(200, headers, EMPTY_BODY);
  }

  answerUnchanged(headers: Headers): void {
    this.begin(304, headers);
    this.end();
  }

  /** Anything that was thrown, as an answer, or as the end of the connection where an answer has begun. */
  answerError(thrown: unknown, moreHeaders: Headers = []): void {
    const error = thrown instanceof AssayError ? thrown : new AssayError('ASSAY_INTERNAL', messageOf(thrown));
    this.#log(error, thrown);
    if (this.response.headersSent) this.response.destroy();
    else if (isAnsweredBeforeBody(this.request, error)) this.#refuseWithoutTheBody(error, moreHeaders);
    else
      this.answer(
        error.entry.status,
        [...errorHeaders(error, this.#form), ...moreHeaders],
        errorBody(error, this.#form),
      );
  }

  /**
   * Closing a socket that holds unread bytes resets the connection, and a client that is still sending would see that
   * instead of the answer. So the answer goes first, whole, and the rest of the body is thrown away for a short time.
   * A client that was not told to continue has sent nothing yet and is not waited for.
   */
  #refuseWithoutTheBody(error: AssayError, moreHeaders: Headers): void {
    const { request, response } = this;
    const body = errorBody(error, this.#form);
    response.shouldKeepAlive = false;
    const length = ['content-length', String(body.length)];
    this.begin(error.entry.status, [...length, ...errorHeaders(error, this.#form), ...moreHeaders]);
    response.write(body);
    const isWaitingForOurWord = request.headers.expect !== undefined;
    const timer = setTimeout(() => this.end(), isWaitingForOurWord ? 0 : this.server.limits.lingerMs);
    const finish = () => {
      clearTimeout(timer);
      if (!response.writableEnded) this.end();
    };
    request.once('end', finish).once('close', finish).resume();
  }

  /** The detail of a client's mistake quotes the client, who may have put a secret where none belongs: it stays out. */
  #log({ code, detail, entry }: AssayError, thrown: unknown): void {
    const { log } = this.server;
    const about = { code, method: this.method, route: this.#route };
    if (code === 'ASSAY_INTERNAL') log.error({ ...about, detail, err: thrown }, entry.summary);
    else if (entry.status >= 500) log.warn({ ...about, detail }, entry.summary);
    else log.debug(about, entry.summary);
  }
}

/** A small rest is read and dropped by node itself, if it comes; a large one is not worth its bandwidth. */
function isAnsweredBeforeBody({ complete, headers }: IncomingMessage, { code }: AssayError): boolean {
  if (complete) return false;
  const { expect, 'content-length': length, 'transfer-encoding': encoding } = headers;
  const isLarge = encoding !== undefined || Number(length ?? 0) > STORE.inlineBytes;
  return isLarge || expect !== undefined || code === 'ASSAY_BODY_TIMEOUT';
}
