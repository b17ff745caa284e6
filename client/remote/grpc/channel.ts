// Calls over one HTTP/2 connection, as gRPC makes them: framed messages there and back, the outcome in the trailers. A
// connection that has broken is opened again at the next call; whatever is under way ends when `signal` does.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { Deframer, frame, frameHeader } from '../../../core/grpc/frame.ts';
import { GRPC_STATUS } from '../../../core/grpc/status.ts';
import { GRPC_REMOTE } from '../../limits.ts';

/** The other side has answered, with an error. */
export class GrpcFault extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.name = 'GrpcFault';
    this.code = code;
  }
}

/** The other side has not answered, or not to the end. */
export class BrokenCall extends Error {}

export interface ChannelOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Hears of all that moves, in either direction. */
  moved(bytes: number): void;
}

/** Called with the headers and trailers of an answer that went well. */
type HearHeaders = (headers: ReadonlyMap<string, string>) => void;

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

  /** One message there, one back. Asked again if the connection breaks under it, perhaps by the doing of another call. */
  async unary(method: string, message: Uint8Array, heard?: HearHeaders): Promise<Buffer> {
    try {
      return await only(this.read(method, message, heard));
    } catch (error) {
      if (!(error instanceof BrokenCall) || this.#signal.aborted) throw error;
      return only(this.read(method, message, heard));
    }
  }

  /** One message there, any number back. */
  read(method: string, message: Uint8Array, heard?: HearHeaders): AsyncGenerator<Buffer> {
    const call = this.#open(method);
    call.end(frame(message));
    this.#moved(message.length);
    return this.#answers(call, heard);
  }

  /** Any number there, one back; which may come before all have been sent, and ends the sending. */
  async write(method: string, messages: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const call = this.#open(method);
    const answer = only(this.#answers(call));
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

  #open(method: string): ClientHttp2Stream {
    this.#signal.throwIfAborted();
    const session = this.#liveSession();
    return session.request(
      {
        ...this.#headers,
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
      // Beyond this node takes no answers, and ends their calls: by default from 10 MB on, which three batches are.
      maxSessionMemory: GRPC_REMOTE.sessionMegabytes,
    });
    // What a broken connection means is for the calls on it to say.
    session.on('error', () => {});
    session.on('goaway', () => session.close());
    session.once('connect', () => session.setLocalWindowSize(GRPC_REMOTE.windowBytes));
    this.#session = session;
    return session;
  }

  /** The messages of the answer. Throws GrpcFault or BrokenCall, unless its status is OK. */
  async *#answers(call: ClientHttp2Stream, heard?: HearHeaders): AsyncGenerator<Buffer> {
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
    judge(headers, broken);
    heard?.(headers);
    if (!deframer.isBetweenMessages) throw new BrokenCall('it ended in the middle of a message');
  }
}

/** With a handler from the first moment: a call may break before anybody reads its answer. */
function bytesOf(call: ClientHttp2Stream): AsyncIterable<Buffer> {
  call.on('error', () => {});
  return call;
}

/** The headers of the answer, and its trailers when they have come. */
function headersOf(call: ClientHttp2Stream): Map<string, string> {
  const heard = new Map<string, string>();
  const keep = (headers: IncomingHttpHeaders) => {
    for (const [name, value] of Object.entries(headers)) heard.set(name, String(value));
  };
  call.on('response', keep);
  call.on('trailers', keep);
  return heard;
}

function judge(headers: ReadonlyMap<string, string>, broken: unknown): void {
  const code = Number(headers.get('grpc-status') ?? Number.NaN);
  if (code === GRPC_STATUS.OK) return;
  if (Number.isInteger(code)) throw new GrpcFault(code, decodeText(headers.get('grpc-message') ?? ''));
  const status = headers.get(constants.HTTP2_HEADER_STATUS);
  if (status !== undefined && status !== '200') throw new BrokenCall(`it answered HTTP ${status}`);
  throw new BrokenCall(broken ? messageOf(broken) : 'it ended without a status', { cause: broken });
}

/** Percent-encoded, as gRPC has it; what is not stands for itself. */
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
    if (only) throw new BrokenCall('it sent more than one message where one was due');
    only = Buffer.from(message);
  }
  if (!only) throw new BrokenCall('it sent no message where one was due');
  return only;
}
