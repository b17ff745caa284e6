// One connection of a fuzzer: sends bytes, parses the status and body of the response, and reconnects after
// the server closes it.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { bytesOf, type FuzzRequest } from './request.ts';

export interface FuzzResponse {
  /** Undefined if the server closed the connection without a response. */
  readonly status: number | undefined;
  readonly body: Buffer;
}

const NOTHING: FuzzResponse = { status: undefined, body: Buffer.alloc(0) };

const LAST_CHUNK = '\r\n0\r\n\r\n';

export class FuzzConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = Buffer.alloc(0);
  #onMore: () => void = () => {};

  constructor(port: number) {
    this.#port = port;
  }

  /** The fuzzer itself ends a request whose body is shorter or longer than announced. */
  async send(request: FuzzRequest): Promise<FuzzResponse> {
    const socket = await this.#open();
    const { announced = request.body.length } = request;
    const bytes = bytesOf(request);
    if (announced > request.body.length) socket.end(bytes);
    else socket.write(bytes);
    const response = await this.#answer(request.method);
    if (announced !== request.body.length) this.close();
    return response;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#received = Buffer.alloc(0);
  }

  async #open(): Promise<Socket> {
    if (this.#socket && !this.#socket.destroyed && this.#socket.writable) return this.#socket;
    this.close();
    const socket = connect(this.#port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => this.#onMore());
    socket.on('data', (piece: Buffer) => {
      if (socket !== this.#socket) return;
      this.#received = Buffer.concat([this.#received, piece]);
      this.#onMore();
    });
    this.#socket = socket;
    await once(socket, 'connect');
    return socket;
  }

  async #answer(method: string): Promise<FuzzResponse> {
    while (true) {
      const response = this.#take(method);
      if (response && response.status !== 100) return response;
      if (response) continue;
      if (!this.#socket || this.#socket.closed) return NOTHING;
      await new Promise<void>((resolve) => {
        this.#onMore = resolve;
      });
    }
  }

  /** Of a body in chunks, whose end is an empty one. The end of the head is the end of a line, too. */
  #bodyLength(head: string, from: number): number {
    if (!/\r\ntransfer-encoding: chunked/.test(head))
      return Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
    const last = this.#received.indexOf(LAST_CHUNK, from);
    return last === -1 ? Number.POSITIVE_INFINITY : last + LAST_CHUNK.length - (from + 2);
  }

  /** The first complete response in the received bytes. */
  #take(method: string): FuzzResponse | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#received.subarray(0, end).toString('latin1').toLowerCase();
    const status = Number(head.slice(9, 12));
    const hasBody = method !== 'HEAD' && status >= 200 && status !== 304 && status !== 204;
    const whole = end + 4 + (hasBody ? this.#bodyLength(head, end + 2) : 0);
    if (this.#received.length < whole && !this.#socket?.closed) return undefined;
    const body = Buffer.from(this.#received.subarray(end + 4, whole));
    this.#received = this.#received.subarray(whole);
    if (/\r\nconnection: close/.test(head)) this.close();
    return { status, body };
  }
}
