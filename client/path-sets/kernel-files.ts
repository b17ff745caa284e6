// The states of kernel files that describe the machine, such as /proc/cpuinfo: what is steady in them.
//
//   value HASH | names HASH | folder | absent | unreadable | unknown
//
// A device is not opened: its state is what it is, and what this user may do with it.
//
// Only files that hermeticity/verdict/kernel-files.ts allows, and that every user may read, are compared. All
// others are "unknown", and so is a file that is too large.
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { isSystemError } from '../../core/errors.ts';
import { isComparedKernelFile } from '../../hermeticity/verdict/kernel-files.ts';
import { OBSERVED } from '../limits.ts';

export const UNKNOWN = 'unknown';

/** What stays as it is, in files that also tell the load, the clock rate or the free memory. */
const STEADY_PARTS: Readonly<Record<string, RegExp>> = {
  '/proc/cpuinfo': /^(?!cpu MHz|clock|bogomips).+$/gim,
  '/proc/meminfo': /^(?:MemTotal|SwapTotal|HugePages_Total|Hugepagesize|CmaTotal):.*$/gm,
  '/proc/self/status':
    /^(?:Umask|Uid|Gid|Groups|Cap\w+|Cpus_allowed|Cpus_allowed_list|Mems_allowed|Mems_allowed_list):.*$/gm,
  '/proc/stat': /^cpu\d+/gm,
};

/** The name of a listing ends with "/". */
export function kernelFileState(name: string): string {
  if (!isComparedKernelFile(name)) return UNKNOWN;
  try {
    if (name.endsWith('/')) return namesState(name);
    return name.startsWith('/dev/') ? deviceState(name) : contentState(name);
  } catch (error) {
    return isSystemError(error, 'ENOENT', 'ENOTDIR') ? 'absent' : 'unreadable';
  }
}

function namesState(folder: string): string {
  return `names ${hashOf(readdirSync(folder).sort().join('\0'))}`;
}

function deviceState(name: string): string {
  const stats = statSync(name);
  if (stats.isDirectory()) return 'folder';
  const isNode = stats.isCharacterDevice() || stats.isBlockDevice();
  const allowed = [constants.R_OK, constants.W_OK].map((mode) => isAllowed(name, mode));
  return `value ${hashOf([isNode, ...allowed].join(' '))}`;
}

function isAllowed(name: string, mode: number): boolean {
  try {
    accessSync(name, mode);
    return true;
  } catch {
    return false;
  }
}

function contentState(name: string): string {
  const file = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) return 'folder';
    if (!stats.isFile() || (stats.mode & 0o004) === 0) return UNKNOWN;
    const steady = STEADY_PARTS[name];
    const text = readText(file, steady ? OBSERVED.processorFileBytes : OBSERVED.kernelFileBytes);
    if (text === undefined) return UNKNOWN;
    return `value ${hashOf(steady ? (text.match(steady) ?? []).join('\n') : text)}`;
  } finally {
    closeSync(file);
  }
}

/** Undefined if there are more bytes. The size of a kernel file says nothing. */
function readText(file: number, maxBytes: number): string | undefined {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length <= maxBytes; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  return length > maxBytes ? undefined : bytes.toString('latin1', 0, length);
}

function hashOf(text: string): string {
  return digestOf(Buffer.from(text)).hash;
}
