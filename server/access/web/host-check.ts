// The Host check of a loopback server without a token: it accepts only names of this machine.
// Guarantee: a web page cannot reach the server by DNS rebinding.
//
// In DNS rebinding, a page's host name resolves first to its own server and later to 127.0.0.1. The browser
// sees one site, so the page may read and write. The Host header still contains the page's name. A name
// without a dot or below .local is no safer: mDNS or a search domain lets other machines claim it.
import { AssayError } from '../../../core/errors.ts';
import { isLoopback } from '../../../store/shared/loopback.ts';

/** `host` is the Host header, or :authority. Throws if the name is not this machine's. */
export type HostCheck = (host: string | undefined) => void;

/** Accepts every Host. */
export function anyHost(): void {}

export function ownHostsOnly(): HostCheck {
  let lastAccepted: string | undefined;
  return (host) => {
    if (host === undefined || host === lastAccepted) return;
    if (!isOwn(host))
      throw new AssayError('ASSAY_FOREIGN_HOST', `this server is not ${JSON.stringify(host)}`);
    lastAccepted = host;
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
