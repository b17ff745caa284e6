// A proxy in front of the S3 server that injects faults. It passes everything else on as it is, with the Host
// header that the client signed.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type S3Fault =
  /** 503, before the body of the request is read. */
  | 'unavailable'
  /** The connection ends before, or in the middle of, the request's body. The server sees nothing. */
  | 'cut'
  /** The server does what it was asked, and the answer is lost. */
  | 'lost answer'
  /** The answer ends early: the connection is closed, with or without the rest being announced. */
  | 'truncated'
  | 'shortened'
  /** Nothing is answered, or nothing after the headers and half of the body. */
  | 'hang'
  | 'hang in answer'
  /** NoSuchKey for an object that is there. */
  | 'missing'
  /** 400: the session token has ended. */
  | 'expired'
  /** The request is passed on twice. */
  | 'repeated'
  /** One bit of the request's body, or of the answer's, is another one. */
  | 'flipped'
  | 'flipped answer';

export interface S3Call {
  readonly method: string;
  /** With the query. */
  readonly path: string;
}

export class S3Proxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #address: string;
  readonly calls: S3Call[] = [];
  /** Asked for every request. */
  fault: (call: S3Call) => S3Fault | undefined = () => undefined;

  static async start(target: string, address = '127.0.0.1'): Promise<S3Proxy> {
    const server = createServer();
    const proxy = new S3Proxy(server, new URL(target), address);
    server.on('request', (incoming, outgoing) => {
      incoming.on('error', () => {});
      outgoing.on('error', () => {});
      proxy.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
    server.listen(0, address);
    await once(server, 'listening');
    return proxy;
  }

  private constructor(server: Server, target: URL, address: string) {
    this.#server = server;
    this.#target = target;
    this.#address = address;
  }

  get url(): string {
    return `http://${this.#address}:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const call = { method: incoming.method ?? '', path: incoming.url ?? '' };
    this.calls.push(call);
    const fault = this.fault(call);
    if (fault === 'hang') return;
    if (fault === 'unavailable') return answer(outgoing, 503, 'SlowDown');
    if (fault === 'expired') return answer(outgoing, 400, 'ExpiredToken');
    if (fault === 'missing') return answer(outgoing, 404, 'NoSuchKey');
    if (fault === 'cut') return cutInBody(incoming);
    const body = Buffer.concat(await Array.fromAsync(incoming));
    if (fault === 'flipped') flip(body);
    const result = await this.#pass(incoming, body);
    if (fault === 'repeated') await this.#pass(incoming, body);
    if (fault === 'flipped answer') flip(result.body);
    if (fault === 'lost answer') return void outgoing.destroy();
    send(outgoing, result, fault);
  }

  async #pass({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Result> {
    const { hostname, port } = this.#target;
    const passed = request({
      hostname,
      port,
      method,
      path: url,
      headers: { ...headers, connection: 'close' },
    });
    passed.end(body);
    const [response] = (await once(passed, 'response')) as [IncomingMessage];
    return { response, body: Buffer.concat(await Array.fromAsync(response)) };
  }
}

interface Result {
  readonly response: IncomingMessage;
  readonly body: Buffer;
}

function send(outgoing: ServerResponse, { response, body }: Result, fault: S3Fault | undefined): void {
  const { connection: _, 'transfer-encoding': __, ...headers } = response.headers;
  const half = body.subarray(0, Math.floor(body.length / 2));
  const length = fault === 'shortened' ? half.length : body.length;
  outgoing.writeHead(response.statusCode ?? 500, { ...headers, 'content-length': length });
  if (fault === 'truncated') outgoing.write(half, () => outgoing.destroy());
  else if (fault === 'hang in answer') outgoing.write(half);
  else if (fault === 'shortened') outgoing.end(half);
  else outgoing.end(body);
}

function flip(bytes: Buffer): void {
  const middle = Math.floor(bytes.length / 2);
  if (bytes.length > 0) bytes[middle] = (bytes[middle] ?? 0) ^ 1;
}

function answer(outgoing: ServerResponse, status: number, code: string): void {
  outgoing.writeHead(status, { 'content-type': 'application/xml', connection: 'close' });
  outgoing.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`);
}

async function cutInBody(incoming: IncomingMessage): Promise<void> {
  for await (const _ of incoming) break;
  incoming.socket.destroy();
}
