// A small gRPC client on node:http2, with several connections, as builds have them.
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { Deframer, frame } from '../../core/grpc/frame.ts';
import { RequestMetadata } from '../../core/proto/generated/reapi-services.ts';

const MAX_MESSAGE = 64 * 1024 * 1024;
const STREAM_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW = 16 * 1024 * 1024;

export class Client {
  readonly #sessions: readonly ClientHttp2Session[];
  readonly #headers: () => Readonly<Record<string, string>>;
  #next = 0;

  static async open(origin: string, connections: number, token?: string, isBazel = false): Promise<Client> {
    const sessions = Array.from({ length: connections }, () =>
      connect(origin, { settings: { initialWindowSize: STREAM_WINDOW } }),
    );
    await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
    for (const session of sessions) session.setLocalWindowSize(CONNECTION_WINDOW);
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const metadata = isBazel ? bazelMetadata() : () => ({});
    return new Client(sessions, () => ({ ...authorization, ...metadata() }));
  }

  private constructor(
    sessions: readonly ClientHttp2Session[],
    headers: () => Readonly<Record<string, string>>,
  ) {
    this.#sessions = sessions;
    this.#headers = headers;
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }

  /** The messages of the response; rejects unless the status is OK. */
  async unary(path: string, message: Uint8Array): Promise<Buffer[]> {
    const stream = this.open(path);
    stream.end(frame(message));
    const deframer = new Deframer(MAX_MESSAGE);
    const messages: Buffer[] = [];
    await answerOf(stream, (piece) => messages.push(...deframer.push(piece)));
    return messages;
  }

  open(path: string): ClientHttp2Stream {
    const session = this.#sessions[this.#next++ % this.#sessions.length];
    if (!session) throw new Error('no connection');
    return session.request({
      ...this.#headers(),
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
  }
}

/** The header of one build, with another action each time. */
function bazelMetadata(): () => Record<string, string> {
  const toolInvocationId = randomUUID();
  return () => {
    const metadata = RequestMetadata.encode({
      toolDetails: { toolName: 'bazel', toolVersion: '8.4.2' },
      actionId: randomBytes(32).toString('hex'),
      toolInvocationId,
      correlatedInvocationsId: toolInvocationId,
      actionMnemonic: 'CppCompile',
      targetId: '//some/folder:target',
      configurationId: 'f7d38d3d1b0b9d4e0c3e31e0e3b1a5d1f7d38d3d1b0b9d4e0c3e31e0e3b1a5d1',
    }).finish();
    return {
      'build.bazel.remote.execution.v2.requestmetadata-bin': Buffer.from(metadata).toString('base64'),
    };
  };
}

/** Rejects unless the status is OK. */
export async function answerOf(stream: ClientHttp2Stream, onData: (piece: Buffer) => void): Promise<void> {
  const status = await statusOf(stream, onData);
  if (status !== '0') throw new Error(`status ${status}`);
}

export function statusOf(stream: ClientHttp2Stream, onData: (piece: Buffer) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    let status: unknown;
    stream.on('response', (headers) => {
      status = headers['grpc-status'] ?? status;
    });
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status'] ?? status;
    });
    stream.on('data', onData);
    stream.once('error', reject);
    stream.once('close', () => resolve(String(status)));
  });
}
