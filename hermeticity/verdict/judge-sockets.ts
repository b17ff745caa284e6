// Judges how an action communicates: network, unix sockets, io_uring. A connection whose two ends are
// processes of the action is its own affair, in whatever order the two are reported.
import type { RingAccess, SocketAccess } from '../trace/access.ts';
import { addressText, isLoopbackSocket, isWildcard } from '../trace/socket-address.ts';
import { isNear, OwnAddresses } from './own-addresses.ts';
import type { Suspicion } from './suspicion.ts';
import type { VerdictState } from './verdict-state.ts';

export class SocketJudge {
  readonly #state: VerdictState;
  readonly #own = new OwnAddresses();
  /** Ports of loopback that the action itself connects to. */
  readonly #usedPorts = new Set<number>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  bound(access: SocketAccess): void {
    const { address } = access;
    this.#own.add(address);
    if (address.family === 'unix' || address.family === 'abstract') return;
    if (access.assigned || isLoopbackSocket(address)) return;
    this.#state.suspect({
      kind: 'net',
      access,
      detail: `binds ${addressText(address)}`,
      unless: () => address.family === 'inet' && isWildcard(address) && this.#usedPorts.has(address.port),
    });
  }

  connected(access: SocketAccess): void {
    const { address } = access;
    if (isNear(address)) this.#usedPorts.add(address.port);
    if (this.#own.has(address)) return;
    const suspicion = this.#suspicionOf(access);
    if (suspicion) this.#state.suspect(suspicion);
  }

  /** A stream that somebody answered before the action itself was bound there went to another process. */
  #suspicionOf(access: SocketAccess): Suspicion | undefined {
    const { address } = access;
    const unless = () => !access.reached && this.#isOwnInTheEnd(access);
    switch (address.family) {
      case 'inet':
      case 'other':
        return { kind: 'net', access, detail: addressText(address), unless };
      case 'unix': {
        const { path } = address;
        const { own, declared, policy } = this.#state;
        if (access.failed && policy.ambientPaths.has(path)) return undefined;
        if (own.isOwn(path) || (!access.reached && declared.isInScratch(path))) return undefined;
        return { kind: 'unix', access, path, unless, ...(access.failed && { detail: 'does not exist' }) };
      }
      case 'abstract':
        return { kind: 'unix', access, detail: addressText(address), unless };
    }
  }

  /**
   * A client may look for its server before the server is there. One that sends nothing yet may also try the
   * port at another address of loopback.
   */
  #isOwnInTheEnd({ address, sent }: SocketAccess): boolean {
    if (this.#own.has(address)) return true;
    if (address.family === 'unix') return this.#state.own.wasWritten(address.path);
    return !sent && this.#own.hasPortOf(address);
  }

  ring(access: RingAccess): void {
    const startUp = this.#state.policy.startUpRings.some(
      ({ entries, flags }) => entries === access.entries && flags === access.flags,
    );
    if (!startUp) this.#state.suspect({ kind: 'io_uring', access, detail: 'denied' });
  }
}
