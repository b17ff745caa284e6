// gRPC calls over one HTTP/2 connection. A broken connection is reopened at the next call. When `signal`
// aborts, all calls end.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { Deframer, frame, frameHeader } from '../../../core/grpc/frame.ts';
import { GRPC_STATUS } from '../../../core/grpc-status.ts';
import { GRPC_REMOTE } from '../../limits.ts';

/** The server answered with an error status. */
export class GrpcFault extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.name = 'GrpcFault';
    this.code = code;
  }
}

/** The call ended without a complete response. */
export class BrokenCall extends Error {}

/** Something between the client and a gRPC server answered, or a server without gRPC. */
export class HttpAnswer extends BrokenCall {}

interface ChannelOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Called for all bytes sent or received. */
  moved(bytes: number): void;
}

/** Called with the headers and trailers of a successful response. */
type OnHeaders = (headers: ReadonlyMap<string, string>) => void;

/** Of one call, besides those of all. */
type CallHeaders = Readonly<Record<string, string>>;

export class Channel {
  readonly #authority: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal;
  readonly #moved: (bytes: number) => void;
  #session: ClientHttp2Session | undefined;

  constructor({ url, headers, signal, moved }: ChannelOptions) {
    this.#authority = `${url.protocol === 'grpcs:' ? 'https' : 'http'}://${url.host}`;
    this.#headers = headers;
    this.#signal = signal;
    this.#moved = moved;
    signal.addEventListener('abort', () => this.close(), { once: true });
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** A unary call. Retried once if the connection breaks, which another call may have caused. */
  async unary(
    method: string,
    message: Uint8Array,
    onHeaders?: OnHeaders,
    headers?: CallHeaders,
  ): Promise<Buffer> {
    try {
      return await only(this.read(method, message, onHeaders, headers));
    } catch (error) {
      if (!(error instanceof BrokenCall) || this.#signal.aborted) throw error;
      return only(this.read(method, message, onHeaders, headers));
    }
  }

  /** A server-streaming call. */
  read(
    method: string,
    message: Uint8Array,
    onHeaders?: OnHeaders,
    headers?: CallHeaders,
  ): AsyncGenerator<Buffer> {
    const call = this.#open(method, headers);
    call.end(frame(message));
    this.#moved(message.length);
    return this.#responses(call, onHeaders);
  }

  /** A client-streaming call. An early response stops the sending. */
  async write(method: string, messages: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const call = this.#open(method);
    const answer = only(this.#responses(call));
    const [outcome, sent] = await Promise.allSettled([answer, this.#send(call, messages, answer)]);
    if (outcome.status === 'fulfilled') return outcome.value;
    throw sent.status === 'rejected' && !(sent.reason instanceof BrokenCall) ? sent.reason : outcome.reason;
  }

  async #send(
    call: ClientHttp2Stream,
    messages: AsyncIterable<Uint8Array>,
    answer: Promise<unknown>,
  ): Promise<void> {
    let answered = false;
    const done = answer.then(
      () => {
        answered = true;
      },
      () => {
        answered = true;
      },
    );
    try {
      for await (const message of messages) {
        if (answered) return;
        call.write(frameHeader(message.length));
        const taken = new Promise<void>((resolve) => call.write(message, () => resolve()));
        await Promise.race([taken, done]);
        this.#moved(message.length);
      }
      call.end();
    } catch (error) {
      call.destroy();
      throw error;
    }
  }

  #open(method: string, headers?: CallHeaders): ClientHttp2Stream {
    this.#signal.throwIfAborted();
    const session = this.#liveSession();
    return session.request(
      {
        ...this.#headers,
        ...headers,
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: `/${method}`,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
      },
      { signal: this.#signal },
    );
  }

  #liveSession(): ClientHttp2Session {
    const open = this.#session;
    if (open && !open.closed && !open.destroyed) return open;
    const session = connect(this.#authority, {
      settings: { initialWindowSize: GRPC_REMOTE.windowBytes, enablePush: false },
      // Above this memory node cancels calls. The default is 10 MB, which three batches exceed.
      maxSessionMemory: GRPC_REMOTE.sessionMegabytes,
    });
    // Each call reports the broken connection itself.
    session.on('error', () => {});
    session.on('goaway', () => session.close());
    session.once('connect', () => session.setLocalWindowSize(GRPC_REMOTE.windowBytes));
    this.#session = session;
    return session;
  }

  /** The response's messages. Throws GrpcFault or BrokenCall unless the status is OK. */
  async *#responses(call: ClientHttp2Stream, onHeaders?: OnHeaders): AsyncGenerator<Buffer> {
    const deframer = new Deframer(GRPC_REMOTE.maxMessageBytes);
    const headers = headersOf(call);
    let broken: unknown;
    try {
      for await (const piece of bytesOf(call)) {
        this.#moved(piece.length);
        yield* deframer.push(piece);
      }
    } catch (error) {
      if (error instanceof AssayError) throw error;
      broken = error;
    } finally {
      call.close(constants.NGHTTP2_CANCEL);
    }
    checkStatus(headers, broken);
    onHeaders?.(headers);
    if (!deframer.isBetweenMessages) throw new BrokenCall('it ended in the middle of a message');
  }
}

/** Adds an error handler at once: a call may break before its response is read. */
function bytesOf(call: ClientHttp2Stream): AsyncIterable<Buffer> {
  call.on('error', () => {});
  return call;
}

/** The response's headers, and its trailers once received. */
function headersOf(call: ClientHttp2Stream): Map<string, string> {
  const received = new Map<string, string>();
  const keep = (headers: IncomingHttpHeaders) => {
    for (const [name, value] of Object.entries(headers)) received.set(name, String(value));
  };
  call.on('response', keep);
  call.on('trailers', keep);
  return received;
}

function checkStatus(headers: ReadonlyMap<string, string>, broken: unknown): void {
  const code = Number(headers.get('grpc-status') ?? Number.NaN);
  if (code === GRPC_STATUS.OK) return;
  if (Number.isInteger(code)) throw new GrpcFault(code, decodeText(headers.get('grpc-message') ?? ''));
  const status = headers.get(constants.HTTP2_HEADER_STATUS);
  if (status !== undefined && status !== '200') throw new HttpAnswer(`it answered HTTP ${status}`);
  throw new BrokenCall(broken ? messageOf(broken) : 'it ended without a status', { cause: broken });
}

/** Decodes gRPC's percent encoding; invalid text stays as it is. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function only(messages: AsyncIterable<Buffer>): Promise<Buffer> {
  let only: Buffer | undefined;
  for await (const message of messages) {
    if (only) throw new BrokenCall('it sent more than one message in a unary response');
    only = Buffer.from(message);
  }
  if (!only) throw new BrokenCall('it sent no message in a unary response');
  return only;
}
