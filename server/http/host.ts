// The URL of the address on which a server listens.
import type { Server } from 'node:net';
import { isIP } from 'node:net';

/** With the port on which the server listens, even if the caller asked for port 0. */
export function urlOf(server: Server, host: string, scheme: 'http' | 'https'): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
