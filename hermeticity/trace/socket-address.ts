// Socket addresses: decoding the kernel's sockaddr, and text for people.
import { nameFromBytes } from '../../core/path.ts';
import { absPathFromBytes } from '../system/absolute-path.ts';
import type { Address } from './access.ts';

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;

/** `bytes` is a sockaddr. A unix socket's path has no trailing NUL; an abstract name begins with NUL. */
export function addressFromBytes(bytes: Buffer): Address {
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

export function addressText(address: Address): string {
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
      return `address family ${address.number}`;
  }
}

export function isLoopback(address: Address): boolean {
  if (address.family !== 'inet') return false;
  return address.host.startsWith('127.') || address.host === '::1' || address.host.startsWith('::ffff:7f');
}

/** Bound to every address of the machine. */
export function isWildcard(address: Address): boolean {
  return address.family === 'inet' && (address.host === '0.0.0.0' || address.host === '::');
}
