// Where a server listens, in words and as a URL.
import type { Server } from 'node:net';
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True when only this machine can reach a server on that host. A name other than localhost may resolve to anything. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host === 'localhost' : LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** With the port that was really taken. */
export function urlOf(server: Server, host: string, scheme: 'http' | 'https'): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
