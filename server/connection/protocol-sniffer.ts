// Connections that have not said yet what they want. Most of those that never will are cut here, where one costs little
// more than its socket: nothing is made for a protocol before its first bytes are there, for HTTP/1 the whole header of its
// first request, and one sweep looks after all.
//
// Two bytes can be shared by both ("PR" begins PRI and PROPFIND), and they may come one at a time, so nothing is decided
// before it is certain. What is neither is HTTP/1's to refuse.
import type { Socket } from 'node:net';
import { appendBuffer } from '../capacity/append-buffer.ts';
import { refuseBeforeRequest } from '../http/connections.ts';
import type { ServerLimits } from '../limits.ts';
import type { Clock } from './awake-clock.ts';
import { ConnectionSet, SetMember } from './connection-set.ts';

/** How every HTTP/2 connection begins. No request of HTTP/1 shares more than its first two bytes. */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TELLING_BYTES = 3;
/** The settings that every client sends right after it (RFC 9113, 3.4) begin with so many bytes. */
const FRAME_HEAD_BYTES = 9;

const HEADER_END = '\r\n\r\n';
const REQUEST_BEGINS = /^[A-Z-]{1,12}(?: |$)/;
/** No header of HTTP/1 has one: its parser will say so. */
const BARE_NEWLINE = /(?:^|[^\r])\n/;

const NOTHING = Buffer.alloc(0);

export type WireProtocol = 'HTTP/1' | 'HTTP/2';

type Limits = Pick<ServerLimits, 'maxHeaderBytes' | 'lingerMs'>;

class UndecidedConnection extends SetMember {
  readonly socket: Socket;
  /** When it was connected, or refused. */
  since: number;
  arrived: Buffer = NOTHING;
  /** It has been told so, and what still comes is dropped. */
  isRefused = false;

  constructor(socket: Socket, since: number) {
    super();
    this.socket = socket;
    this.since = since;
  }
}

export class ProtocolSniffer {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #undecided = new ConnectionSet<UndecidedConnection>();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** `decide` gets the socket as if nothing had been read of it, or never if it is closed before. */
  await(socket: Socket, decide: (protocol: WireProtocol) => void): void {
    const connection = new UndecidedConnection(socket, this.#clock.now);
    const giveUp = () => this.#giveUp(connection, 'ASSAY_BAD_REQUEST');
    const onReadable = () => {
      const protocol = this.#read(connection);
      if (!protocol) return;
      this.#undecided.delete(connection);
      socket.off('end', giveUp).off('readable', onReadable);
      socket.unshift(connection.arrived);
      connection.arrived = NOTHING; // what is still heard at the end of the connection would hold it
      decide(protocol);
    };
    this.#undecided.add(connection);
    socket.once('close', () => this.#undecided.delete(connection));
    socket.on('end', giveUp).on('readable', onReadable);
  }

  #read(connection: UndecidedConnection): WireProtocol | undefined {
    const piece: Buffer | null = connection.socket.read();
    if (!piece || connection.isRefused) return undefined;
    const { arrived } = connection;
    connection.arrived = arrived.length === 0 ? piece : appendBuffer(arrived, piece);
    return protocolOf(connection.arrived, this.#limits.maxHeaderBytes);
  }

  /** Whoever has begun a request of HTTP/1 understands an answer. */
  #giveUp(connection: UndecidedConnection, why: 'ASSAY_BAD_REQUEST' | 'ASSAY_HEADER_TIMEOUT'): void {
    const { socket, arrived, isRefused } = connection;
    if (isRefused || couldBeHttp2(arrived)) {
      socket.destroy();
      return;
    }
    connection.isRefused = true;
    connection.since = this.#clock.now;
    connection.arrived = NOTHING;
    refuseBeforeRequest(why, socket);
  }

  /** Closes those who have been waited for longer than `patienceMs`, of a share of all and the next time of the next. */
  check(share: number, timeoutMs: number): void {
    const { now } = this.#clock;
    this.#undecided.visitShare(share, (connection) => {
      const mostMs = connection.isRefused ? this.#limits.lingerMs : timeoutMs;
      if (now - connection.since > mostMs) this.#giveUp(connection, 'ASSAY_HEADER_TIMEOUT');
    });
  }

  closeAll(): void {
    this.#undecided.visitAll(({ socket }) => socket.destroy());
  }
}

/** Undefined while it could still be either, or too little of it is there. */
function protocolOf(bytes: Buffer, maxHeaderBytes: number): WireProtocol | undefined {
  if (!couldBeHttp2(bytes)) return isHeaderOnItsWay(bytes, maxHeaderBytes) ? undefined : 'HTTP/1';
  if (bytes.length < TELLING_BYTES) return undefined;
  return isWorthASession(bytes) ? 'HTTP/2' : undefined;
}

function couldBeHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, TELLING_BYTES);
  return bytes.compare(HTTP2_PREFACE, 0, length, 0, length) === 0;
}

/** And nothing is wrong with it so far, which a parser would say at once. */
function isHeaderOnItsWay(bytes: Buffer, maxHeaderBytes: number): boolean {
  if (bytes.includes(HEADER_END) || bytes.length > maxHeaderBytes) return false;
  const text = bytes.toString('latin1');
  return REQUEST_BEGINS.test(text) && !BARE_NEWLINE.test(text);
}

/** Or it goes wrong, which the session will say better. */
function isWorthASession(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  const isWrong = bytes.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0;
  return isWrong || bytes.length >= HTTP2_PREFACE.length + FRAME_HEAD_BYTES;
}
