// The network interfaces of this machine, as texts: names, addresses, what a driver says about them, and routes.
// Counters of traffic and the table of neighbours are left out: they change from moment to moment.
import { readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

const INTERFACES = '/sys/class/net';
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1']);

export function interfaceLines(): string[] {
  const addresses = Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all.map(({ address, netmask, mac }) => [name, address, netmask, mac].join(' ')),
  );
  return [...addresses.sort(), ...readdirSync(INTERFACES).sort().map(linkLine), ...routes()];
}

/** Without those of loopback, which every machine has. */
export function outerAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((one = []) => one.map(({ address }) => address));
  return [...new Set(all)].filter((address) => !LOOPBACK.has(address)).sort();
}

/** Whether there are IPv4 and IPv6 addresses other than loopback: that is what getaddrinfo learns. */
export function addressFamilies(): string {
  const outer = outerAddresses();
  return [outer.some((one) => !one.includes(':')), outer.some((one) => one.includes(':'))].join(' ');
}

/** By the columns that are no counters: targets, gateways, metrics, masks, interfaces. */
function routes(): string[] {
  const columns = (file: string, chosen: readonly number[]) =>
    textAt(file)
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .map((fields) => chosen.map((column) => fields[column]).join(' '));
  const all = [
    ...columns('/proc/net/route', [0, 1, 2, 6, 7]),
    ...columns('/proc/net/ipv6_route', [0, 1, 4, 5, 9]),
  ];
  return all.sort();
}

function linkLine(name: string): string {
  return [name, ...['address', 'flags', 'mtu', 'operstate'].map((file) => textOf(name, file))].join(' ');
}

function textOf(name: string, file: string): string {
  return textAt(join(INTERFACES, name, file));
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return '';
  }
}
