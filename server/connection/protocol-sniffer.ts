// The protocol sniffer: it reads the first bytes of a connection and decides between HTTP/1 and HTTP/2.
// Guarantee: it puts back every byte that it read, and closes a connection that stays silent.
//
// No parser and no session exists before the decision, and for HTTP/1 the whole first header must have
// arrived. So a client that connects and sends nothing costs little more than its socket. One sweep enforces
// the time limit for all.
//
// "PR" begins both "PRI" and "PROPFIND", and bytes may arrive one at a time. Bytes of neither protocol go to
// HTTP/1, which answers with an error.
import type { Socket } from 'node:net';
import type { Clock } from '../capacity/awake-clock.ts';
import { appendBuffer } from '../capacity/buffers.ts';
import { ConnectionSet, SetMember } from '../capacity/connection-set.ts';
import { rejectConnection } from '../http/connections.ts';
import type { ServerLimits } from '../limits.ts';

/** Every HTTP/2 connection begins with this. An HTTP/1 request shares its first two bytes at most. */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const DECIDING_BYTES = 3;
/** The header of the SETTINGS frame that every client sends after the preface (RFC 9113, 3.4). */
const FRAME_HEAD_BYTES = 9;

const HEADER_END = '\r\n\r\n';
const REQUEST_START = /^[A-Z-]{1,12}(?: |$)/;
/** Invalid in an HTTP/1 header. */
const BARE_NEWLINE = /(?:^|[^\r])\n/;

const NOTHING = Buffer.alloc(0);

export type WireProtocol = 'HTTP/1' | 'HTTP/2';

type Limits = Pick<ServerLimits, 'maxHeaderBytes' | 'lingerMs'>;

class UndecidedConnection extends SetMember {
  readonly socket: Socket;
  /** The time of the connection, or of its refusal. */
  since: number;
  arrived: Buffer = NOTHING;
  /** It has its error response. Further bytes are dropped. */
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

  /**
   * Calls `decide` once, with the socket as if nothing had been read. Never calls it if the socket closes
   * before.
   */
  await(socket: Socket, decide: (protocol: WireProtocol) => void): void {
    const connection = new UndecidedConnection(socket, this.#clock.now);
    const giveUp = () => this.#giveUp(connection, 'ASSAY_BAD_REQUEST');
    const onReadable = () => {
      const protocol = this.#read(connection);
      if (!protocol) return;
      this.#undecided.delete(connection);
      socket.off('end', giveUp).off('readable', onReadable);
      socket.unshift(connection.arrived);
      connection.arrived = NOTHING; // the close listener would keep the bytes in memory
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

  /** An HTTP/1 client gets an error response. A possible HTTP/2 client gets a closed socket. */
  #giveUp(connection: UndecidedConnection, why: 'ASSAY_BAD_REQUEST' | 'ASSAY_HEADER_TIMEOUT'): void {
    const { socket, arrived, isRefused } = connection;
    if (isRefused || couldBeHttp2(arrived)) {
      socket.destroy();
      return;
    }
    connection.isRefused = true;
    connection.since = this.#clock.now;
    connection.arrived = NOTHING;
    rejectConnection(why, socket);
  }

  /** Closes the connections that are older than `timeoutMs`. */
  check(timeoutMs: number): void {
    const { now } = this.#clock;
    this.#undecided.visitAll((connection) => {
      const limitMs = connection.isRefused ? this.#limits.lingerMs : timeoutMs;
      if (now - connection.since > limitMs) this.#giveUp(connection, 'ASSAY_HEADER_TIMEOUT');
    });
  }

  closeAll(): void {
    this.#undecided.visitAll(({ socket }) => socket.destroy());
  }
}

/** Undefined while more bytes are needed. */
function protocolOf(bytes: Buffer, maxHeaderBytes: number): WireProtocol | undefined {
  if (!couldBeHttp2(bytes)) return isHeaderIncomplete(bytes, maxHeaderBytes) ? undefined : 'HTTP/1';
  if (bytes.length < DECIDING_BYTES) return undefined;
  return isPrefaceComplete(bytes) ? 'HTTP/2' : undefined;
}

function couldBeHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, DECIDING_BYTES);
  return bytes.compare(HTTP2_PREFACE, 0, length, 0, length) === 0;
}

/** False for an invalid header too: the parser then answers at once. */
function isHeaderIncomplete(bytes: Buffer, maxHeaderBytes: number): boolean {
  if (bytes.includes(HEADER_END) || bytes.length > maxHeaderBytes) return false;
  const text = bytes.toString('latin1');
  return REQUEST_START.test(text) && !BARE_NEWLINE.test(text);
}

/** True for a wrong preface too: the HTTP/2 session reports it properly. */
function isPrefaceComplete(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  const isWrong = bytes.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0;
  return isWrong || bytes.length >= HTTP2_PREFACE.length + FRAME_HEAD_BYTES;
}
