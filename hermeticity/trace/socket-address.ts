// Socket addresses: decoding the kernel's sockaddr, and text for people.
import { nameFromBytes } from '../../core/path.ts';
import { absPathFromBytes } from '../../system/paths/absolute-path.ts';
import type { SocketAddress } from './access.ts';

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;

/** `bytes` is a sockaddr. A unix socket's path has no trailing NUL; an abstract name begins with NUL. */
export function addressFromBytes(bytes: Buffer): SocketAddress {
  const family = bytes.length >= 2 ? bytes.readUInt16LE(0) : 0;
  if (family === AF_INET && bytes.length >= 8) {
    return { family: 'inet', host: [...bytes.subarray(4, 8)].join('.'), port: bytes.readUInt16BE(2) };
  }
  if (family === AF_INET6 && bytes.length >= 24) {
    return { family: 'inet', host: ipv6Text(bytes.subarray(8, 24)), port: bytes.readUInt16BE(2) };
  }
  if (family === AF_UNIX && bytes[2] === 0) {
    return { family: 'abstract', name: nameFromBytes(bytes.subarray(3)) };
  }
  if (family === AF_UNIX && bytes.length > 2)
    return { family: 'unix', path: absPathFromBytes(bytes.subarray(2)) };
  return { family: 'other', number: family };
}

/** Shortens the longest run of zeros to "::". */
export function ipv6Text(bytes: Uint8Array): string {
  const view = Buffer.from(bytes);
  const groups = Array.from({ length: 8 }, (_, index) => view.readUInt16BE(index * 2).toString(16));
  const text = groups.join(':');
  const zeros = [...text.matchAll(/(?:^|:)(?:0(?::0)+)(?=:|$)/g)].sort(
    (a, b) => b[0].length - a[0].length,
  )[0];
  if (!zeros) return text;
  const before = text.slice(0, zeros.index);
  const after = text.slice(zeros.index + zeros[0].length).replace(/^:/, '');
  return `${before}::${after}`;
}

/** How the text of an address begins that is neither of IP nor of UNIX. */
export const OTHER_FAMILY = 'address family';

export function addressText(address: SocketAddress): string {
  switch (address.family) {
    case 'inet':
      return address.host.includes(':')
        ? `[${address.host}]:${address.port}`
        : `${address.host}:${address.port}`;
    case 'unix':
      return address.path;
    case 'abstract':
      return `@${address.name}`;
    case 'other':
      return `${OTHER_FAMILY} ${address.number}`;
  }
}

/** The IPv4 address that a host is, also in the forms that IPv6 has for it; undefined for others. */
export function ipv4Of(host: string): string | undefined {
  const plain = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(host)?.[1];
  if (plain !== undefined) return plain;
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [high, low].flatMap((group) => [...Buffer.from(group.padStart(4, '0'), 'hex')]).join('.');
}

export function isLoopbackSocket(address: SocketAddress): boolean {
  if (address.family !== 'inet') return false;
  return address.host === '::1' || ipv4Of(address.host)?.startsWith('127.') === true;
}

/** Bound to every address of the machine. */
export function isWildcard(address: SocketAddress): boolean {
  return address.family === 'inet' && (address.host === '::' || ipv4Of(address.host) === '0.0.0.0');
}
