// Socket addresses, decoded from the kernel's bytes and printed in the usual form.
import { isIPv6 } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  addressFromBytes,
  addressText,
  ipv6Text,
  isLoopbackSocket,
} from '../../../hermeticity/trace/socket-address.ts';

describe('a socket address', () => {
  it('of IPv6 is printed in its short form', () => {
    const text = (hex: string) => ipv6Text(Buffer.from(hex, 'hex'));
    expect(text('00000000000000000000000000000001')).toBe('::1');
    expect(text('00000000000000000000000000000000')).toBe('::');
    expect(text('20010db8000000000001000000000001')).toBe('2001:db8::1:0:0:1');
    expect(text('20010db80001000200030004000500ff')).toBe('2001:db8:1:2:3:4:5:ff');
    expect(
      ['fe80000000000000000000000000ab00', '00010000000000000000000000000000'].map(text).every(isIPv6),
    ).toBe(true);
  });

  it('of a unix socket is a path or an abstract name', () => {
    expect(addressText(addressFromBytes(Buffer.from('\x01\x00/run/s')))).toBe('/run/s');
    expect(addressText(addressFromBytes(Buffer.from('\x01\x00\x00name')))).toBe('@name');
  });

  it('of an unknown family is still reported', () => {
    expect(addressText(addressFromBytes(Buffer.from([40, 0, 0, 0])))).toBe('address family 40');
  });

  it('is recognized as this machine’s own in each of its forms', () => {
    const host = (text: string) => isLoopbackSocket({ family: 'inet', host: text, port: 1 });
    const own = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:7f00:1', '::ffff:127.0.0.1'];
    expect(own.filter((text) => !host(text))).toEqual([]);
    expect(['192.0.2.1', '::2', '::ffff:c000:201', '::ffff:7f:1'].filter(host)).toEqual([]);
  });
});
