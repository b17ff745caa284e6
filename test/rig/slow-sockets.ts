// Clients that take their time, for whoever wants to see what a server does about them.
import { connect, type Socket } from 'node:net';

/** How an HTTP/2 client greets. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const EMPTY_SETTINGS = '\0\0\0\x04\0\0\0\0\0';

/** What it sends at once, and what it sends byte by byte after that. */
export interface Manner {
  readonly name: string;
  readonly first: string;
  readonly next?: string;
  readonly reads: boolean;
}

/** `largePath` leads to more than a socket's buffers hold. */
export function manners(largePath: string): Manner[] {
  const put = `PUT /cas/${'d'.repeat(64)} HTTP/1.1\r\nhost: localhost\r\n`;
  return [
    {
      name: 'unread answer',
      first: `GET ${largePath} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(3),
      reads: false,
    },
    { name: 'silent', first: '', reads: true },
    {
      name: 'header',
      first: 'GET /heal',
      next: 'thz HTTP/1.1\r\nhost: localhost\r\nx-much: '.padEnd(500, 'x'),
      reads: true,
    },
    { name: 'small body', first: `${put}content-length: 60000\r\n\r\n`, next: 'x'.repeat(500), reads: true },
    { name: 'large body', first: `${put}content-length: 900000\r\n\r\n`, next: 'x'.repeat(500), reads: true },
    {
      name: 'chunked body',
      first: `${put}transfer-encoding: chunked\r\n\r\n`,
      next: '1\r\nx\r\n'.repeat(100),
      reads: true,
    },
    { name: 'greeting', first: `${PREFACE}${EMPTY_SETTINGS}`, reads: true },
    { name: 'preface', first: PREFACE.slice(0, 2), next: PREFACE.slice(2), reads: true },
  ];
}

export class Dribbler {
  readonly manner: Manner;
  readonly #socket: Socket;
  readonly #opened: Promise<number>;
  readonly #gone: Promise<number>;
  #left: string;

  constructor(port: number, manner: Manner) {
    this.manner = manner;
    this.#left = manner.next ?? '';
    this.#socket = connect(port, '127.0.0.1').on('error', () => {});
    this.#opened = this.#timeOf('connect');
    this.#gone = this.#timeOf('close');
    if (manner.reads) this.#socket.resume();
    else this.#socket.pause();
    this.#socket.write(manner.first);
  }

  #timeOf(event: string): Promise<number> {
    return new Promise((resolve) => this.#socket.once(event, () => resolve(performance.now())));
  }

  async opened(): Promise<void> {
    await this.#opened;
  }

  get isGone(): boolean {
    return this.#socket.destroyed;
  }

  /** How long it was connected. Who does not read does not learn that it was cut off. */
  async lifeMs(): Promise<number> {
    return (await this.#gone) - (await this.#opened);
  }

  /** One byte more, where there is one. */
  dribble(): void {
    if (this.isGone || this.#left === '') return;
    this.#socket.write(this.#left.slice(0, 1));
    this.#left = this.#left.slice(1);
  }

  end(): void {
    this.#socket.destroy();
  }
}
