// A listening server in this process, and clients for it that send exactly the given bytes.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import pino from 'pino';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import type { Digest } from '../../core/digest.ts';
import type { S3Keys } from '../../server/access/aws-signature.ts';
import type { TokenExchange } from '../../server/access/identities.ts';
import type { IdentitySource } from '../../server/access/identity.ts';
import type { Clock } from '../../server/capacity/awake-clock.ts';
import type { TlsIdentity } from '../../server/connection/tls.ts';
import type { ServerLimits } from '../../server/limits.ts';
import { type RunningServer, startServer } from '../../server/listen.ts';
import { reportStoreEvents } from '../../server/log.ts';
import { Metrics } from '../../server/request/metrics.ts';
import type { ServerPart } from '../../server/server-port.ts';
import type { OnStoreEvent } from '../../store/events.ts';
import type { WriteLog } from '../../store/log/write-log.ts';
import type { Blobs, LargeBlob, Store } from '../../store/store.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';

export interface TestServerOptions {
  readonly store?: Store | ((onEvent: OnStoreEvent) => Store | Promise<Store>);
  readonly storeFolder?: string;
  readonly space?: { used(): number; readonly limit: number };
  readonly writeLog?: WriteLog;
  readonly host?: string;
  readonly token?: string;
  readonly identities?: IdentitySource;
  readonly tokenExchange?: TokenExchange;
  readonly s3Keys?: S3Keys;
  readonly readOnly?: boolean;
  readonly tls?: TlsIdentity | undefined;
  readonly limits?: Partial<ServerLimits>;
  readonly clock?: Clock;
  /** To read what was counted after the server has stopped. */
  readonly metrics?: Metrics;
  readonly wings?: readonly ServerPart[];
}

export interface TestServer extends RunningServer {
  readonly port: number;
  readonly store: Store;
  /** Every log line, at every level. */
  logged(): string;
}

/** Stops, and closes its store, when the test is finished. */
export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { store: given = (onEvent) => openMemoryStore(onEvent), host = '127.0.0.1', ...rest } = options;
  const { metrics = new Metrics() } = rest;
  const lines: string[] = [];
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(line.toString());
      done();
    },
  });
  const log = pino({ level: 'trace' }, sink);
  const store = typeof given === 'function' ? await given(reportStoreEvents(log, metrics)) : given;
  const running = await startServer({ ...rest, host, port: 0, store, log, metrics });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= running.stop();
    return stopped;
  };
  onTestFinished(async () => {
    await stop();
    await store.close();
  });
  return {
    url: running.url,
    port: Number(new URL(running.url).port),
    store,
    setTlsIdentity: running.setTlsIdentity,
    stop,
    logged: () => lines.join(''),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export type Method = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'OPTIONS' | 'PROPFIND' | 'MKCOL';

export async function ask(
  url: string,
  method: Method = 'GET',
  options: { readonly headers?: Record<string, string>; readonly body?: Buffer | Readable } = {},
): Promise<Answer> {
  const { headers = {}, body = null } = options;
  const answer = await request(url, { method, headers, body });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: Buffer.from(await answer.body.arrayBuffer()),
  };
}

export function codeIn({ body }: Pick<Answer, 'body'>): unknown {
  return JSON.parse(body.toString()).code;
}

/** A raw connection: sends the given bytes and keeps everything that it receives. */
export class RawConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #onMore = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (piece: Buffer) => {
      this.#received = Buffer.concat([this.#received, piece]);
      this.#onMore();
    });
    socket.on('close', () => this.#onMore());
    socket.on('error', () => {});
  }

  static async to(
    { port }: { readonly port: number },
    { allowHalfOpen = false } = {},
  ): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  get received(): Buffer {
    return this.#received;
  }

  /** Everything received, as soon as it contains `text`; fails if the connection ends earlier. */
  async until(text: string): Promise<string> {
    while (!this.#received.includes(text)) {
      if (this.socket.closed) throw new Error(`closed after ${JSON.stringify(this.#received.toString())}`);
      await this.#more();
    }
    return this.#received.toString('latin1');
  }

  async untilLength(length: number): Promise<void> {
    while (this.#received.length < length) {
      if (this.socket.closed) throw new Error(`closed after ${this.#received.length} bytes`);
      await this.#more();
    }
  }

  /** Everything received until the server closed the connection. */
  async untilClosed(): Promise<string> {
    while (!this.socket.closed) await this.#more();
    return this.#received.toString('latin1');
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#onMore = resolve;
    });
  }
}

export function putHead(path: string, ...headers: readonly string[]): string {
  return [`PUT ${path} HTTP/1.1`, 'host: localhost', ...headers, '', ''].join('\r\n');
}

/** A store in which the test overrides one part. */
export function storeWith(blobs: Partial<Blobs>): Store {
  const store = openMemoryStore();
  return { ...store, blobs: { ...store.blobs, ...blobs } };
}

export function largeBlob(size: number, chunks: LargeBlob['chunks']): LargeBlob {
  return { size, chunks };
}

export function pathOf(digest: Digest, prefix = ''): string {
  return `${prefix}/cas/${digest.hash}`;
}
