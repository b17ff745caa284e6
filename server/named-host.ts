// By which name a client may call a server that everybody on this machine may use: by none that somebody else can own.
//
// A page in a browser can't reach such a server under its address, but it may come from a name that first leads to its own
// server and then to 127.0.0.1 (DNS rebinding): to the browser both are the same site, and it may read and write. The Host
// header still has that name. Names without a dot, and those below, are nobody's in the public DNS.
import { isIP } from 'node:net';
import { AssayError } from '../core/errors.ts';

/** Takes the Host header as it was sent; throws for a name that is not this server's. */
export type HostCheck = (host: string | undefined) => void;

const NOBODYS = ['.localhost', '.local', '.internal', '.test', '.home.arpa'];

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
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return isAddress || !name.includes('.') || NOBODYS.some((ending) => name.endsWith(ending));
}
