// The subjects of questions to the kernel: a property of the machine, which is compared, or something that cannot be.
// Every question that hermeticity/native/calls.def traces has an entry, so none is overlooked.
//
// Not traced, because every runtime asks at its start: getuid, uname, sysinfo, sched_getaffinity, the limits on
// stack, open files and processes. docs/MACHINES.md lists each with what finds a dependence on it.
import type { QuestionAccess } from '../trace/access.ts';
import { OTHER_FAMILY } from '../trace/socket-address.ts';

/**
 * `fact`: a property of client/path-sets/machine.ts, or a kernel file. `quiet`: runtimes ask, and nearly every machine
 * gives the same answer. `net` and `host`: a finding, with this detail; the result is not kept.
 */
type Meaning =
  | { readonly fact: string; readonly quiet?: true }
  | { readonly net: string }
  | { readonly host: string };

const BY_NAME: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['getgroups', { fact: 'groups' }],
  ['getresgid', { fact: 'groups' }],
  ['getresuid', { fact: 'uid' }],
  ['getpriority', { fact: 'nice' }],
  ['sched_getscheduler', { fact: 'scheduling', quiet: true }],
  ['sched_getparam', { fact: 'scheduling', quiet: true }],
  ['sched_getattr', { fact: 'nice' }],
  ['statmount', { fact: '/proc/self/mountinfo' }],
  ['listmount', { fact: '/proc/self/mountinfo' }],
  ['getaddrinfo', { fact: 'families', quiet: true }],
  ['ioprio_get', { host: 'asks for its I/O priority' }],
  ['syslog', { host: "reads the kernel's log" }],
  ['quotactl', { host: 'asks for disk quotas' }],
  ['quotactl_fd', { host: 'asks for disk quotas' }],
  ['keyctl', { host: "uses the kernel's keys" }],
  ['request_key', { host: "uses the kernel's keys" }],
  ['bpf', { host: 'uses bpf' }],
  ['perf_event_open', { host: 'counts events of the machine' }],
  ['lsm_get_self_attr', { host: 'asks for the security module' }],
  ['lsm_list_modules', { host: 'asks for the security module' }],
  ['sysfs', { host: 'asks for file systems' }],
  ['ustat', { host: 'asks for file systems' }],
  ['user attribute', { host: 'has an extended attribute of a user' }],
]);

/** The names of the limits, by number, as /proc/self/limits has them. */
export const LIMITS: readonly string[] = [
  'cpu time',
  'file size',
  'data size',
  'stack size',
  'core file size',
  'resident set',
  'processes',
  'open files',
  'locked memory',
  'address space',
  'file locks',
  'pending signals',
  'msgqueue size',
  'nice priority',
  'realtime priority',
  'realtime timeout',
];

export const LIMIT = 'limit:';
export const ADDRESSES = 'addresses';

/** The commands from SIOCGIFNAME to SIOCSIFMAP, except those of drivers (SIOCETHTOOL and similar). */
const INTERFACE_COMMANDS = { first: 0x8910, last: 0x8945 };
const NETLINK_ROUTE = 0;
const AF_ALG = 38;

/** Undefined for a question that tells nothing about the machine. */
export function meaningOf({ question, number = 0 }: QuestionAccess): Meaning | undefined {
  switch (question) {
    case 'limit': {
      const name = LIMITS[number];
      return name === undefined ? { host: 'asks for a limit' } : { fact: `${LIMIT}${name}`, quiet: true };
    }
    case 'ioctl': {
      const { first, last } = INTERFACE_COMMANDS;
      const isAddress = number >= first && number <= last;
      return isAddress ? { fact: ADDRESSES } : { host: 'asks a driver of the network' };
    }
    case 'netlink':
      return number === NETLINK_ROUTE
        ? { fact: ADDRESSES }
        : { host: `asks by netlink (protocol ${number})` };
    case 'raw socket':
      return { net: 'a raw socket' };
    case 'socket':
      return number === AF_ALG ? undefined : { net: `${OTHER_FAMILY} ${number}` };
    default:
      return BY_NAME.get(question) ?? { host: question };
  }
}
