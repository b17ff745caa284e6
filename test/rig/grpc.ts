// A gRPC client that sends exactly what it is told to, on node:http2, and keeps all that comes back.
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { Deframer, frame } from '../../core/grpc/frame.ts';
import { GRPC_STATUS } from '../../core/grpc-status.ts';

export interface GrpcAnswer {
  readonly status: string;
  readonly message: string;
  readonly messages: readonly Buffer[];
  readonly headers: IncomingHttpHeaders;
}

export type CallHeaders = Readonly<Record<string, string>>;

const MAX_MESSAGE = 64 * 1024 * 1024;
const WINDOW = 4 * 1024 * 1024;

export class GrpcClient {
  readonly session: ClientHttp2Session;
  readonly #headers: CallHeaders;

  private constructor(session: ClientHttp2Session, headers: CallHeaders) {
    this.session = session;
    this.#headers = headers;
  }

  static async to(
    url: string,
    headers: CallHeaders = {},
    options: SecureClientSessionOptions = {},
  ): Promise<GrpcClient> {
    const session = connect(url, { settings: { initialWindowSize: WINDOW }, ...options });
    await Promise.race([once(session, 'remoteSettings'), closed(session)]);
    session.on('error', () => {});
    session.setLocalWindowSize(WINDOW);
    return new GrpcClient(session, headers);
  }

  close(): void {
    this.session.destroy();
  }

  /** One message there, any number back. */
  call(path: string, message: Uint8Array, headers: CallHeaders = {}): Promise<GrpcAnswer> {
    const call = this.open(path, headers);
    call.stream.end(frame(message));
    return call.answer();
  }

  open(path: string, headers: CallHeaders = {}): GrpcCall {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...this.#headers,
      ...headers,
    });
    return new GrpcCall(stream);
  }
}

export class GrpcCall {
  readonly stream: ClientHttp2Stream;
  readonly #messages: Buffer[] = [];
  readonly #answer: Promise<GrpcAnswer>;

  constructor(stream: ClientHttp2Stream) {
    this.stream = stream;
    this.#answer = this.#collect();
    this.#answer.catch(() => {});
  }

  /** Waits while the connection takes no more. */
  async send(message: Uint8Array): Promise<void> {
    if (!this.stream.write(frame(message))) await Promise.race([once(this.stream, 'drain'), this.#answer]);
  }

  end(): void {
    this.stream.end();
  }

  /** Rejects if the call ended without a status: it was cut off. */
  answer(): Promise<GrpcAnswer> {
    return this.#answer;
  }

  #collect(): Promise<GrpcAnswer> {
    const { stream } = this;
    const deframer = new Deframer(MAX_MESSAGE);
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on('response', (arrived) => {
      headers = arrived;
    });
    stream.on('trailers', (arrived) => {
      trailers = arrived;
    });
    stream.on('data', (piece: Buffer) => this.#messages.push(...deframer.push(piece)));
    stream.on('error', () => {});
    return new Promise((resolve, reject) => {
      stream.once('close', () => {
        const last = { ...headers, ...trailers };
        const code = last['grpc-status'];
        if (typeof code !== 'string') return reject(new Error(`no status; HTTP/2 code ${stream.rstCode}`));
        const message = decodeURIComponent(String(last['grpc-message'] ?? ''));
        resolve({ status: statusName(Number(code)), message, messages: this.#messages, headers });
      });
    });
  }
}

async function closed(session: ClientHttp2Session): Promise<never> {
  await once(session, 'close');
  throw new Error('the connection was closed');
}

function statusName(code: number): string {
  return Object.entries(GRPC_STATUS).find(([, number]) => number === code)?.[0] ?? String(code);
}
