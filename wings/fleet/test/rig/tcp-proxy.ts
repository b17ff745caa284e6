// A proxy for TCP that can behave like a broken network: it cuts connections, refuses new ones, delays bytes, or lets
// them vanish in one direction or in both.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `frozen`: nothing moves. `deaf`: requests vanish. `mute`: answers vanish. `away`: connections are refused.
 * `slow`: every byte arrives DELAY_MS later. `stuffed`: answers are not read any more, so their
 * sender waits.
 */
export type Link = 'open' | 'frozen' | 'deaf' | 'mute' | 'away' | 'slow' | 'stuffed';

const DELAY_MS = 120;

export class TcpProxy {
  readonly #server: Server;
  /** Can be replaced: new connections go there. */
  target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #link: Link = 'open';

  /** Listens on `address`, and passes everything on to the host and port. */
  static async start(host: string, port: number, address = '127.0.0.1'): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, { host, port });
    server.on('connection', (socket) => proxy.#connect(socket));
    server.listen(0, address);
    await once(server, 'listening');
    return proxy;
  }

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.target = target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that vanished, or are late, do not come back: a link that opens again has lost its connections. */
  set link(link: Link) {
    this.#link = link;
    if (link === 'open' || link === 'away') this.#cut();
    if (link === 'stuffed') for (const [, server] of this.#pairs) server.pause();
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
    const server = connect(this.target);
    server.on('error', () => {});
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    client.on('data', (bytes) => this.#pass(bytes, server, 'deaf'));
    server.on('data', (bytes) => this.#pass(bytes, client, 'mute'));
    client.on('close', () => this.#end(pair, server, 'deaf'));
    server.on('close', () => this.#end(pair, client, 'mute'));
  }

  #pass(bytes: Buffer | string, to: Socket, unless: Link): void {
    if (this.#link === 'frozen' || this.#link === unless) return;
    if (this.#link === 'slow') setTimeout(() => to.write(bytes), DELAY_MS);
    else to.write(bytes);
  }

  /** The end of a connection vanishes like its bytes: the other side keeps it open. */
  #end(pair: readonly [Socket, Socket], other: Socket, unless: Link): void {
    if (this.#link === 'frozen' || this.#link === 'stuffed' || this.#link === unless) return;
    this.#pairs.delete(pair);
    other.destroy();
  }

  #cut(): void {
    for (const [client, server] of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    this.#pairs.clear();
  }
}
