// The properties of this machine and its user that a result may depend on, as states of a path set.
// Each property is steady while a command runs: a fact about it means the same at the next lookup.
// A property whose name begins with "/" is a kernel file (kernel-files.ts).
//
// A state holds a hash of the value: path sets are shared, and a name or a path need not be in them.

import { readdirSync, readFileSync } from 'node:fs';
import { homedir, hostname, release, version } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { LIMIT } from '../../hermeticity/verdict/questions.ts';
import { userName, userOfProcess } from '../../system/process/password-file.ts';
import { OBSERVED } from '../limits.ts';
import { addressFamilies, interfaceLines } from './addresses.ts';
import { kernelFileState, UNKNOWN } from './kernel-files.ts';
import { groupIds, limitOf, niceness, schedulingClass, userIds } from './process-state.ts';

type Read = () => readonly string[];

/** A property and its state. */
export type MachineProperty = readonly [property: string, state: string];

/** The MAC address of a network interface is the property "mac:" and the name of the interface. */
const MAC = 'mac:';
const INTERFACES = '/sys/class/net';

export class Machine {
  readonly #properties: ReadonlyMap<string, Read>;
  readonly #states = new Map<string, string>();

  /** `sources`: the source trees of a workspace that consists of links. */
  constructor(workspace: string, sources: Read = () => []) {
    this.#properties = new Map<string, Read>([
      ['addresses', interfaceLines],
      ['cpu', () => [cpuFeatures()]],
      ['domain', () => [domainName()]],
      ['families', () => [addressFamilies()]],
      ['groups', () => [groupIds()]],
      ['home', () => [...new Set([homedir(), userOfProcess()?.home ?? ''])]],
      ['host', () => [hostname()]],
      ['kernel', () => [release()]],
      ['kernel-build', () => [version()]],
      ['nice', () => [niceness()]],
      ['scheduling', () => [schedulingClass()]],
      ['sources', sources],
      ['uid', () => [userIds()]],
      ['user', () => [userName()]],
      ['workspace', () => [workspace]],
    ]);
  }

  /** The values as texts, to search for them in outputs. None if this machine does not tell them. */
  values(property: string): readonly string[] {
    try {
      if (property.startsWith(MAC)) return macAddress(property.slice(MAC.length));
      if (property.startsWith(LIMIT)) return limitOf(property);
      return (this.#properties.get(property)?.() ?? []).filter((value) => value !== '');
    } catch {
      return [];
    }
  }

  /** "value HASH". UNKNOWN for a property that this version of Assay or this machine does not know. */
  state(property: string): string {
    const state = this.#states.get(property) ?? this.#read(property);
    this.#states.set(property, state);
    return state;
  }

  #read(property: string): string {
    if (property.startsWith('/')) return kernelFileState(property);
    const values = this.values(property);
    return values.length === 0 ? UNKNOWN : `value ${digestOf(Buffer.from(values.join('\n'))).hash}`;
  }
}

/** The properties that are MAC addresses of this machine. */
export function macProperties(): string[] {
  try {
    const names = readdirSync(INTERFACES).filter((name) => name !== 'lo' && !name.startsWith('veth'));
    return names.slice(0, OBSERVED.interfaces).map((name) => `${MAC}${name}`);
  } catch {
    return [];
  }
}

/** Whether a property stays as it is while the up-to-date states hold (up-to-date/invalidators.ts). */
export function isSteady(property: string): boolean {
  return STEADY.has(property) || property.startsWith(LIMIT);
}

/** Whether a Machine that knows no source trees finds this state again as long as it holds. */
export function isComparable(property: string, state: string): boolean {
  return property !== 'sources' && state !== '' && state !== UNKNOWN;
}

const STEADY: ReadonlySet<string> = new Set(
  'cpu domain groups home host kernel kernel-build nice scheduling uid user workspace'.split(' '),
);

/** Empty where nobody has set one. */
export function domainName(): string {
  const name = readFileSync('/proc/sys/kernel/domainname', 'latin1').trim();
  return name === '(none)' ? '' : name;
}

/** None for an interface without one. A remote may ask for any name. */
function macAddress(name: string): readonly string[] {
  if (!/^[^/\0]{1,15}$/.test(name) || /^\.+$/.test(name)) return [];
  const address = readFileSync(join(INTERFACES, name, 'address'), 'latin1').trim();
  return /^(?:00:)*00$/.test(address) || address === '' ? [] : [address];
}

/** A property as messages name it. */
export function propertyText(property: string): string {
  if (property.startsWith(MAC)) return `the MAC address of ${property.slice(MAC.length)}`;
  if (property.endsWith('/')) return `the list of names in ${property}`;
  if (property.startsWith(LIMIT)) return `the limit on ${property.slice(LIMIT.length)}`;
  return TEXTS.get(property) ?? `the machine's ${property}`;
}

const TEXTS: ReadonlyMap<string, string> = new Map([
  ['addresses', 'the addresses of the machine'],
  ['cpu', 'the kind of processor'],
  ['domain', 'the domain name'],
  ['families', 'whether the machine has IPv4 and IPv6 addresses'],
  ['groups', 'the groups of the user'],
  ['home', 'the home folder'],
  ['host', 'the host name'],
  ['kernel', 'the kernel release'],
  ['kernel-build', "the kernel's version"],
  ['nice', 'the priority of the process'],
  ['scheduling', 'the scheduling class'],
  ['sources', "the source tree's path"],
  ['uid', 'the number of the user'],
  ['user', 'the user name'],
  ['workspace', "the workspace's path"],
]);

/** What the processors can do; not how fast they run at the moment. */
function cpuFeatures(): string {
  const FEATURES = /^(?:flags|Features|vendor_id|cpu family|model|model name|stepping|CPU \w+)\s*:/;
  const lines = readFileSync('/proc/cpuinfo', 'utf8').split('\n');
  return [...new Set(lines.filter((line) => FEATURES.test(line)))].sort().join('\n');
}
