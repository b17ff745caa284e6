// Connections that have not said yet what they speak. Most of those that never will are cut here, where one costs little
// more than its socket: nothing is made for a protocol before its first bytes are there, and one sweep looks after all.
//
// Two bytes can be shared by both ("PR" begins PRI and PROPFIND), and they may come one at a time, so nothing is decided
// before it is certain.
import type { Socket } from 'node:net';
import type { ServerLimits } from '../core/limits.ts';
import { Placed, Roster } from './roster.ts';

/** How every HTTP/2 connection begins. No request of HTTP/1 shares more than its first two bytes. */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TELLING_BYTES = 3;
/** The settings that every client sends right after it (RFC 9113, 3.4) begin with so many bytes. */
const FRAME_HEAD_BYTES = 9;

export type Spoken = 'HTTP/1' | 'HTTP/2';

class Unspoken extends Placed {
  readonly socket: Socket;
  readonly since = performance.now();

  constructor(socket: Socket) {
    super();
    this.socket = socket;
  }
}

export class FirstBytes {
  readonly #limits: Pick<ServerLimits, 'headerTimeoutMs'>;
  readonly #unspoken = new Roster<Unspoken>();

  constructor(limits: Pick<ServerLimits, 'headerTimeoutMs'>) {
    this.#limits = limits;
  }

  /** `decide` gets the socket as if nothing had been read of it, or never if it is closed before. */
  await(socket: Socket, decide: (spoken: Spoken) => void): void {
    const unspoken = new Unspoken(socket);
    let arrived: Buffer = Buffer.alloc(0);
    const giveUp = () => socket.destroy();
    const onReadable = () => {
      const piece: Buffer | null = socket.read();
      if (!piece) return;
      arrived = arrived.length === 0 ? piece : Buffer.concat([arrived, piece]);
      const spoken = spokenBy(arrived);
      if (!spoken) return;
      this.#unspoken.delete(unspoken);
      socket.off('end', giveUp).off('readable', onReadable);
      socket.unshift(arrived);
      decide(spoken);
    };
    this.#unspoken.add(unspoken);
    socket.once('close', () => this.#unspoken.delete(unspoken));
    socket.on('end', giveUp).on('readable', onReadable);
  }

  /** Closes those who have been waited for long enough. */
  checkAll(): void {
    const latest = performance.now() - this.#limits.headerTimeoutMs;
    for (const { socket, since } of this.#unspoken) if (since <= latest) socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#unspoken) socket.destroy();
  }
}

/** Undefined while it could still be either, or too little of it is there. */
function spokenBy(bytes: Buffer): Spoken | undefined {
  const length = Math.min(bytes.length, TELLING_BYTES);
  if (bytes.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0) return 'HTTP/1';
  if (bytes.length < TELLING_BYTES) return undefined;
  return isWorthASession(bytes) ? 'HTTP/2' : undefined;
}

/** Or it goes wrong, which the session will say better. */
function isWorthASession(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  const isWrong = bytes.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0;
  return isWrong || bytes.length >= HTTP2_PREFACE.length + FRAME_HEAD_BYTES;
}
