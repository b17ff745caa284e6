// Judges how an action communicates: network, unix sockets, io_uring.
import type { RingAccess, SocketAccess } from '../trace/access.ts';
import { addressText, isLoopback, isWildcard } from '../trace/socket-address.ts';
import type { VerdictState } from './verdict-state.ts';

export class SocketJudge {
  readonly #state: VerdictState;
  /** Addresses that the action itself is bound to: connecting to itself is no finding. */
  readonly #own = new Set<string>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  bound(access: SocketAccess): void {
    const { address } = access;
    this.#own.add(addressText(address));
    if (address.family !== 'inet') return;
    if (isWildcard(address)) this.#own.add(anyHost(address.port));
    const detail = `binds ${addressText(address)}`;
    if (!isLoopback(address)) this.#state.suspect({ kind: 'net', access, detail });
  }

  connected(access: SocketAccess): void {
    const { address } = access;
    const text = addressText(address);
    if (this.#own.has(text)) return;
    switch (address.family) {
      case 'inet':
        if (!(isLoopback(address) && this.#own.has(anyHost(address.port)))) {
          this.#state.suspect({ kind: 'net', access, detail: text });
        }
        break;
      case 'unix':
        if (!(access.failed && this.#state.policy.ambientPaths.has(address.path))) {
          const detail = access.failed ? { detail: 'does not exist' } : {};
          this.#state.suspect({ kind: 'unix', access, path: address.path, ...detail });
        }
        break;
      case 'abstract':
        this.#state.suspect({ kind: 'unix', access, detail: text });
        break;
      case 'other':
        this.#state.suspect({ kind: 'net', access, detail: text });
    }
  }

  ring(access: RingAccess): void {
    const startUp = this.#state.policy.startUpRings.some(
      ({ entries, flags }) => entries === access.entries && flags === access.flags,
    );
    if (!startUp) this.#state.suspect({ kind: 'io_uring', access, detail: 'denied' });
  }
}

function anyHost(port: number): string {
  return `*:${port}`;
}
