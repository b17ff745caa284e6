// The socket addresses that processes of the action are bound to: who connects there talks to the action
// itself.
import type { SocketAddress } from '../trace/access.ts';
import { addressText, ipv4Of, isLoopbackSocket, isWildcard } from '../trace/socket-address.ts';

type InetAddress = Extract<SocketAddress, { family: 'inet' }>;

export class OwnAddresses {
  readonly #exact = new Set<string>();
  /** Ports that are bound at every address. A socket that is bound to "::" takes IPv4 connections too. */
  readonly #everywhere = { ipv4: new Set<number>(), ipv6: new Set<number>() };
  /** Ports that are bound at some address of loopback. */
  readonly #ports = new Set<number>();

  add(address: SocketAddress): void {
    this.#exact.add(keyOf(address));
    if (address.family !== 'inet') return;
    if (isLoopbackSocket(address) || isWildcard(address)) this.#ports.add(address.port);
    if (!isWildcard(address)) return;
    this.#everywhere.ipv4.add(address.port);
    if (ipv4Of(address.host) === undefined) this.#everywhere.ipv6.add(address.port);
  }

  has(address: SocketAddress): boolean {
    if (address.family !== 'inet') return this.#exact.has(keyOf(address));
    const target = targetOf(address);
    if (this.#exact.has(keyOf(target))) return true;
    const everywhere = this.#everywhere[ipv4Of(target.host) === undefined ? 'ipv6' : 'ipv4'];
    return isLoopbackSocket(target) && everywhere.has(target.port);
  }

  /**
   * Whether the action has this port at another address of loopback: "localhost" is tried as ::1 and as
   * 127.0.0.1.
   */
  hasPortOf(address: SocketAddress): boolean {
    return address.family === 'inet' && isLoopbackSocket(targetOf(address)) && this.#ports.has(address.port);
  }
}

/** Whether a connection to this address can arrive at a socket that is bound to all addresses. */
export function isNear(address: SocketAddress): address is InetAddress {
  return address.family === 'inet' && isLoopbackSocket(targetOf(address));
}

/** To a client the unspecified address means loopback. */
function targetOf(address: InetAddress): InetAddress {
  if (!isWildcard(address)) return address;
  return { ...address, host: ipv4Of(address.host) === undefined ? '::1' : '127.0.0.1' };
}

function keyOf(address: SocketAddress): string {
  if (address.family !== 'inet') return `${address.family} ${addressText(address)}`;
  return `inet ${ipv4Of(address.host) ?? address.host} ${address.port}`;
}
