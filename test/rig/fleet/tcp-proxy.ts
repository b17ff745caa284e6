// A proxy for TCP that can behave like a broken network: it cuts connections, refuses new ones, or lets bytes
// vanish in one direction or in both.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** `frozen`: nothing moves. `deaf`: requests vanish. `mute`: answers vanish. `away`: connections are refused. */
export type Link = 'open' | 'frozen' | 'deaf' | 'mute' | 'away';

export class TcpProxy {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #link: Link = 'open';

  static async start(host: string, port: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, { host, port });
    server.on('connection', (socket) => proxy.#connect(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.#target = target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that vanished do not come back, so a link that opens again has lost its connections. */
  set link(link: Link) {
    this.#link = link;
    if (link === 'open' || link === 'away') this.#cut();
  }

  async stop(): Promise<void> {
    this.#cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #connect(client: Socket): void {
    client.on('error', () => {});
    if (this.#link === 'away') {
      client.destroy();
      return;
    }
    const server = connect(this.#target);
    server.on('error', () => {});
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    client.on('data', (bytes) => void (this.#passes('deaf') && server.write(bytes)));
    server.on('data', (bytes) => void (this.#passes('mute') && client.write(bytes)));
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    client.on('close', end);
    server.on('close', end);
  }

  #passes(unless: Link): boolean {
    return this.#link !== 'frozen' && this.#link !== unless;
  }

  #cut(): void {
    for (const [client, server] of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }
}
