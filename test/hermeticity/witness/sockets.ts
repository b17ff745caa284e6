// Extracts the addresses from strace's text of a socket call.
import { nameFromBytes } from '../../../core/path.ts';
import type { SocketAddress } from '../../../hermeticity/trace/access.ts';
import type { AbsPath } from '../../../system/paths/absolute-path.ts';
import type { Call } from './line.ts';

const ADDRESS = /sa_family=(AF_\w+)([^}]*)\}/g;
const HEX = '((?:\\\\x[0-9a-f]{2})*)';
const PORT = /sin6?_port=htons\((\d+)\)/;
const IPV4 = new RegExp(`inet_addr\\("${HEX}"\\)`);
const IPV6 = new RegExp(`inet_pton\\(AF_INET6, "${HEX}"`);
const UNIX = new RegExp(`sun_path=(@?)"${HEX}"`);

/** Address families that never leave the command. */
const INWARD = new Set(['AF_UNSPEC', 'AF_NETLINK', 'AF_ALG']);

export function addressesIn(call: Call, toPath: (raw: Buffer) => AbsPath): SocketAddress[] {
  const found: SocketAddress[] = [];
  for (const [, family = '', fields = ''] of call.arguments.join(', ').matchAll(ADDRESS)) {
    const address = INWARD.has(family) ? undefined : parseAddress(family, fields, toPath);
    if (address) found.push(address);
  }
  return found;
}

function parseAddress(
  family: string,
  fields: string,
  toPath: (raw: Buffer) => AbsPath,
): SocketAddress | undefined {
  const host = IPV4.exec(fields)?.[1] ?? IPV6.exec(fields)?.[1];
  if (host !== undefined) {
    return {
      family: 'inet',
      host: unhex(host).toString('latin1'),
      port: Number(PORT.exec(fields)?.[1] ?? 0),
    };
  }
  if (family !== 'AF_UNIX') return { family: 'other', number: 0 };
  const [, abstract, hex] = UNIX.exec(fields) ?? [];
  if (hex === undefined) return undefined;
  if (abstract === '@') return { family: 'abstract', name: nameFromBytes(unhex(hex)) };
  return { family: 'unix', path: toPath(unhex(hex)) };
}

function unhex(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}
