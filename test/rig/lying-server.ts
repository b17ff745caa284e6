// A gRPC server that passes calls on to an honest one, and answers some of them in its own way.
import { once } from 'node:events';
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** By the name of a method, without its service. */
export type Lies = Readonly<Record<string, (call: ServerHttp2Stream) => void>>;

export interface LyingServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startLyingServer(honest: string, lies: Lies): Promise<LyingServer> {
  const behind = connect(honest.replace(/^grpc/, 'http'));
  const open = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket: Socket) => open.add(socket));
  server.on('sessionError', () => {});
  server.on('stream', (call: ServerHttp2Stream, headers) => {
    call.on('error', () => {});
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const lie = lies[method];
    if (lie) lie(call);
    else passOn(call, headers);
  });

  function passOn(call: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { ':authority': _, ':scheme': __, ...rest } = headers;
    const answer = behind.request(rest);
    answer.on('error', () => call.destroy());
    call.pipe(answer);
    answer.on('response', ({ ...head }) => {
      call.respond(head, { waitForTrailers: true });
      answer.on('trailers', (trailers) => call.on('wantTrailers', () => call.sendTrailers({ ...trailers })));
      answer.pipe(call);
    });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `grpc://127.0.0.1:${port}`,
    async close() {
      behind.destroy();
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

/** Begins an answer that goes well, so far. */
export function begin(call: ServerHttp2Stream): void {
  call.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
}

/** Ends a call at once, with a status and a text. */
export function refuse(call: ServerHttp2Stream, code: number, text: string): void {
  call.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': String(code),
      'grpc-message': encodeURIComponent(text),
    },
    { endStream: true },
  );
}
