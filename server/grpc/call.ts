// One gRPC call and its response.
// Guarantee: a call ends with one status, which is counted once. Every error becomes a status of the
// catalogue.

import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { AssayError } from '../../core/errors.ts';
import { frame, frameHeader } from '../../core/grpc/frame.ts';
import { GRPC_STATUS, type GrpcStatus, grpcStatusOf } from '../../core/grpc-status.ts';
import { NAMESPACE_HEADER } from '../../core/namespace.ts';
import { STORE } from '../../store/limits.ts';
import { freeBuffer } from '../capacity/buffers.ts';
import type { Transfer } from '../capacity/min-rate.ts';
import type { ServerContext } from '../context.ts';
import { BodyReader } from '../http/body-reader.ts';
import { PROTOCOL } from '../limits.ts';
import { RequestScope } from '../scope.ts';
import { untilWritesAreDone } from './in-flight.ts';
import type { Method } from './method.ts';
import { readMessage } from './request-message.ts';

/** Alternating names and values: Node would copy an object for each call. */
const HEAD = [':status', '200', 'content-type', 'application/grpc'];
const OK_TRAILERS = { 'grpc-status': String(GRPC_STATUS.OK) };
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
const WITHOUT_BODY = { endStream: true, sendDate: false };

const CUT_SHORT = new AssayError('ASSAY_BODY_TIMEOUT', 'the response was cut short');
/** The trailers until a response is complete: node:http2 asks for them even if a stream closes early. */
const CUT_SHORT_TRAILERS = trailersOf(CUT_SHORT);

/** What a server error becomes; a miss is none. */
const FAULTS: ReadonlySet<GrpcStatus> = new Set(['INTERNAL', 'UNAVAILABLE', 'UNKNOWN', 'DATA_LOSS']);

/** Alternating names and values. */
type Headers = readonly string[];

/** A refusal that is the usual answer of a method, such as a miss. It is prepared once, and is not logged. */
interface UsualRefusal {
  readonly status: GrpcStatus;
  readonly head: Headers;
}

export function usualRefusal(error: AssayError): UsualRefusal {
  return { status: grpcStatusOf(error.entry), head: [...HEAD, ...Object.entries(trailersOf(error)).flat()] };
}

export class Call extends RequestScope {
  readonly headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  readonly #method: Method;
  readonly #transfer: Transfer;
  readonly #body: BodyReader;
  #trailers = CUT_SHORT_TRAILERS;
  #isCutShort = false;
  #isFinished = false;
  #settleWrite: (isWritten: boolean) => void = () => {};

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    server: ServerContext,
    method: Method,
  ) {
    super(server);
    this.#stream = stream;
    this.headers = headers;
    this.#method = method;
    this.#transfer = server.minRate.begin(() => this.#giveUp());
    this.#body = new BodyReader(server, {
      stream,
      transfer: this.#transfer,
      maxBytes: Number.POSITIVE_INFINITY,
      onClose: () => {
        if (stream.isPaused()) stream.resume();
      },
    });
    stream.on('close', () => this.#close());
  }

  protected get label(): string {
    return this.#method.name;
  }

  protected get remoteAddress(): string | undefined {
    return this.#stream.session?.socket.remoteAddress;
  }

  protected get about() {
    return { method: this.#method.name };
  }

  #close(): void {
    this.server.minRate.end(this.#transfer);
    this.#settleWrite(false);
  }

  run(): void {
    try {
      this.checkRunning();
      this.checkHost(this.headers[':authority'] ?? this.headers.host);
      this.authorize(this.#method.needs);
      this.#method.answer(this).then(
        () => this.#finish(),
        (error: unknown) => this.#refuse(error),
      );
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** The message of a call with a single request message. */
  message(): Promise<Buffer> {
    return readMessage(this.#body, this.server.limits.maxGrpcMessageBytes);
  }

  /** The request body of a call with a stream of messages, with the gRPC frames. */
  pieces(): AsyncIterable<Buffer[]> {
    return this.#body.batches();
  }

  /** Sends the response of a call with a single response message. */
  answer(message: Uint8Array, headers?: Headers): void {
    if (this.isGone) return;
    if (message.byteLength > STORE.inlineBytes) {
      this.#answerInPieces(message, headers);
      return;
    }
    this.#isFinished = true;
    this.#trailers = OK_TRAILERS;
    this.#begin(headers);
    this.#stream.end(frame(message));
    this.#end('OK');
  }

  /** The same for a message that nobody else reads: its memory is freed as soon as it is sent. */
  answerAndFree(message: Uint8Array): void {
    if (message.byteLength <= STORE.inlineBytes) this.answer(message);
    else if (!this.isGone) this.#answerInPieces(message, undefined, () => freeBuffer(message));
  }

  /** Instead of a response. */
  refuse({ status, head }: UsualRefusal): void {
    if (this.isGone) return;
    this.#isFinished = true;
    this.#stream.respond(head, WITHOUT_BODY);
    this.#end(status);
  }

  /**
   * The message counts as response memory until the stream closes. Small writes show the client's progress.
   */
  #answerInPieces(message: Uint8Array, headers: Headers | undefined, onSent = () => {}): void {
    const { capacity, limits } = this.server;
    const { byteLength } = message;
    capacity.addResponseBytes(byteLength);
    this.#stream.once('close', () => capacity.removeResponseBytes(byteLength));
    this.#isFinished = true;
    this.#begin(headers);
    const send = async () => {
      for (let at = 0; at < byteLength; at += limits.maxWriteBytes) {
        const head = at === 0 ? frameHeader(byteLength) : undefined;
        if (!(await this.#write(message.subarray(at, at + limits.maxWriteBytes), head)))
          return this.#cutOff();
      }
      onSent();
      this.#trailers = OK_TRAILERS;
      this.#end('OK');
    };
    send().catch((error: unknown) => {
      this.logError(CUT_SHORT, error);
      this.#cutOff();
    });
  }

  /**
   * Sends one message of a stream: `before`, then `content`. `content` must not change until the promise
   * settles. False if the client is gone or was cut for slowness. Then the call does not end with OK.
   */
  async send(before: Uint8Array, content: Uint8Array): Promise<boolean> {
    const { session } = this.#stream;
    this.#isCutShort ||= this.isGone;
    if (this.#isCutShort) return false;
    if (!this.#stream.headersSent) this.#begin();
    const head = Buffer.concat([frameHeader(before.byteLength + content.byteLength), before]);
    const isWritten = await this.#write(content, head);
    this.#isCutShort = !isWritten;
    if (!isWritten && session) await untilWritesAreDone(session, this.server.limits.noProgressMs);
    return isWritten;
  }

  /** True once node:http2 has sent all of it. */
  async #write(content: Uint8Array, head?: Uint8Array): Promise<boolean> {
    const stream = this.#stream;
    this.#transfer.startWaiting();
    const isWritten = await new Promise<boolean>((resolve) => {
      this.#settleWrite = resolve;
      stream.cork();
      if (head) stream.write(head);
      // When a client cancels a call, node:http2 completes its writes without an error.
      stream.write(content, (error) => resolve(!error && !stream.closed));
      stream.uncork();
    });
    if (isWritten) this.#transfer.progress(content.byteLength);
    this.#transfer.stopWaiting();
    return isWritten;
  }

  #cutOff(): void {
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** True if the stream is closed: nothing can be sent. */
  get isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  #begin(headers?: Headers): void {
    const { namespace } = this;
    const more = namespace ? [...(headers ?? []), NAMESPACE_HEADER, namespace] : headers;
    this.#stream.respond(more ? [...HEAD, ...more] : HEAD, WITH_TRAILERS);
    this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(this.#trailers));
  }

  /** Ends a call after its last message, with OK unless a message was cut short. */
  #finish(): void {
    if (this.#isCutShort) this.#refuse(CUT_SHORT);
    if (this.#isFinished || this.isGone) return;
    this.#isFinished = true;
    this.#trailers = OK_TRAILERS;
    if (!this.#stream.headersSent) this.#begin();
    this.#end('OK');
  }

  #refuse(thrown: unknown): void {
    const error = this.failed(thrown);
    if (this.#isFinished || this.isGone) return;
    this.#isFinished = true;
    this.#trailers = trailersOf(error);
    if (!this.#stream.headersSent) {
      this.#stream.respond([...HEAD, ...Object.entries(this.#trailers).flat()], WITHOUT_BODY);
    }
    this.countDenial(error);
    this.#end(grpcStatusOf(error.entry));
  }

  /**
   * Drops the rest of the request for lingerMs, then closes the stream. A client that still sends receives
   * the status first, and most clients then stop. Resetting the stream at once would lose the status.
   */
  #end(status: GrpcStatus): void {
    const stream = this.#stream;
    this.#count(status);
    this.#transfer.startWaiting();
    if (stream.writable) stream.end();
    if (stream.readableEnded) return;
    stream.resume();
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), this.server.limits.lingerMs);
    stream.once('close', () => clearTimeout(timer));
  }

  #count(status: GrpcStatus): void {
    const { tookMs } = this;
    this.server.metrics.called(this.#method.name, status, tookMs);
    if (!this.#method.isWait) this.answered(FAULTS.has(status), tookMs);
  }

  /** The minimum rate calls this if the client is too slow. */
  #giveUp(): void {
    this.#body.fail(() => new AssayError('ASSAY_BODY_TIMEOUT', this.server.minRate.rule));
    this.#settleWrite(false);
    if (this.#isFinished || this.#stream.headersSent) this.#cutOff();
  }
}

function trailersOf(error: AssayError): Record<string, string> {
  const status = GRPC_STATUS[grpcStatusOf(error.entry)];
  return { 'grpc-status': String(status), 'grpc-message': statusMessage(error) };
}

/** The message as gRPC requires it: printable ASCII, and everything else percent-encoded. */
function statusMessage(error: AssayError): string {
  return plainMessage(error).replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent);
}

/** The detail of a server error may name folders of this machine, so the client gets only the summary. */
export function plainMessage({ code, detail, entry }: AssayError): string {
  const text = entry.status >= 500 ? entry.summary : detail;
  return `${code}: ${text}`.slice(0, PROTOCOL.maxStatusLength).toWellFormed();
}
