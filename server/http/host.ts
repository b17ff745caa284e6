// The address on which a server listens: whether it is loopback, and its URL.
import type { Server } from 'node:net';
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True if only this machine can reach the host. A name other than localhost may resolve to any address. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host === 'localhost' : LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** With the port on which the server listens, even if the caller asked for port 0. */
export function urlOf(server: Server, host: string, scheme: 'http' | 'https'): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
