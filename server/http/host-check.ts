// The Host names that a server without a token answers to: those that lead to this machine and to no other.
//
// A web page can point a name of its own at its server first and at 127.0.0.1 afterwards (DNS rebinding). To the browser
// both are one site, so the page may read and write. The Host header still holds that name. A name without a dot, or
// below .local, is no safer: whoever answers on the local network (mDNS, a search domain) owns it.
import { AssayError } from '../../core/errors.ts';
import { isLoopback } from './host.ts';

/** Takes the Host header, or :authority, as it was sent; throws for a name that is not this machine's. */
export type HostCheck = (host: string | undefined) => void;

export function anyHost(): void {}

export function ownHostsOnly(): HostCheck {
  let lastGood: string | undefined;
  return (host) => {
    if (host === undefined || host === lastGood) return;
    if (!isOwn(host))
      throw new AssayError('ASSAY_FOREIGN_HOST', `this server is not ${JSON.stringify(host)}`);
    lastGood = host;
  };
}

function isOwn(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  return isLoopback(name) || name.endsWith('.localhost');
}
