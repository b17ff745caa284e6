// Extracts from strace's text of a call what it asks about the machine: the counterpart of native/ask.c.
// strace does not show which message a netlink socket carries, so each such socket asks for all addresses.
import type { AccessDetails } from '../../../hermeticity/trace/report-builder.ts';
import type { Call } from './line.ts';
import { bytesOf, errorOf } from './line.ts';

type Question = Extract<AccessDetails, { kind: 'asked' }>;

const LIMITS =
  'CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS LOCKS SIGPENDING MSGQUEUE NICE RTPRIO RTTIME'.split(
    ' ',
  );
/** Every C library asks for these at a program's start. */
const COMMON_LIMITS: ReadonlySet<string> = new Set(['STACK', 'NPROC', 'NOFILE']);
/** Numbers that stand for all commands of their kind. */
const SIOCGIFCONF = 0x8912;
const SIOCETHTOOL = 0x8946;
const OTHER_PROTOCOL = 1;

export function questionIn(call: Call): Question | undefined {
  const [first = '', second = '', third = '', fourth = ''] = call.arguments;
  switch (call.name) {
    case 'getrlimit':
      return limit(first);
    case 'prlimit64':
      return fourth === 'NULL' ? undefined : limit(second);
    case 'ioctl':
      if (/^SIOCGIF/.test(second)) return { kind: 'asked', question: 'ioctl', number: SIOCGIFCONF };
      return /^SIOC(?:ETHTOOL|GIW|GMII)/.test(second)
        ? { kind: 'asked', question: 'ioctl', number: SIOCETHTOOL }
        : undefined;
    case 'socket':
      return socket(first, second, third);
    case 'fgetxattr':
      return second.startsWith('"') && isUsers(call, 1)
        ? { kind: 'asked', question: 'user attribute' }
        : undefined;
    case 'flistxattr':
      return listsUsers(call) ? { kind: 'asked', question: 'user attribute' } : undefined;
    default:
      return { kind: 'asked', question: call.name };
  }
}

/** Whether a call got an attribute that a user gave to the file: by its name, or in a list. */
export function gotUserAttribute(call: Call): boolean {
  if (/^l?getxattr(?:at)?$/.test(call.name)) return isUsers(call, call.name.endsWith('at') ? 3 : 1);
  return /listxattr/.test(call.name) && listsUsers(call);
}

function isUsers(call: Call, position: number): boolean {
  const name = bytesOf(call.arguments[position])?.toString('latin1') ?? '';
  return errorOf(call.result) === undefined && name.startsWith('user.');
}

function listsUsers(call: Call): boolean {
  const names = call.arguments.flatMap((text) => bytesOf(text)?.toString('latin1').split('\0') ?? []);
  return errorOf(call.result) === undefined && names.slice(1).some((name) => name.startsWith('user.'));
}

function limit(name: string): Question | undefined {
  const short = name.replace('RLIMIT_', '');
  return COMMON_LIMITS.has(short)
    ? undefined
    : { kind: 'asked', question: 'limit', number: LIMITS.indexOf(short) };
}

function socket(family: string, type: string, protocol: string): Question | undefined {
  if (family === 'AF_NETLINK') {
    const isRoute = protocol === 'NETLINK_ROUTE';
    return { kind: 'asked', question: 'netlink', ...(!isRoute && { number: OTHER_PROTOCOL }) };
  }
  if (/SOCK_RAW/.test(type)) return { kind: 'asked', question: 'raw socket' };
  const isCommon = /^AF_(?:UNIX|INET6?|ALG)$/.test(family);
  return isCommon ? undefined : { kind: 'asked', question: 'socket' };
}
