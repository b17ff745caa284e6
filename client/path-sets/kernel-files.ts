// The states of kernel files that describe the machine, such as /proc/cpuinfo: what is steady in them.
//
//   value HASH | names HASH | folder | absent | unreadable | unknown
//
// Only files that hermeticity/verdict/kernel-files.ts allows, and that every user may read, are compared. All
// others are "unknown", and so is a file that is too large.
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { isSystemError } from '../../core/errors.ts';
import { isComparedKernelFile } from '../../hermeticity/verdict/kernel-files.ts';
import { OBSERVED } from '../limits.ts';

export const UNKNOWN = 'unknown';

/** What stays as it is, in files that also tell the load, the clock rate or the free memory. */
const STEADY_PARTS: Readonly<Record<string, RegExp>> = {
  '/proc/cpuinfo': /^(?!cpu MHz|clock|bogomips).+$/gim,
  '/proc/meminfo': /^(?:MemTotal|SwapTotal|HugePages_Total|Hugepagesize|CmaTotal):.*$/gm,
  '/proc/stat': /^cpu\d+/gm,
};

/** The name of a listing ends with "/". */
export function kernelFileState(name: string): string {
  if (!isComparedKernelFile(name)) return UNKNOWN;
  try {
    return name.endsWith('/') ? namesState(name) : contentState(name);
  } catch (error) {
    return isSystemError(error, 'ENOENT', 'ENOTDIR') ? 'absent' : 'unreadable';
  }
}

function namesState(folder: string): string {
  return `names ${hashOf(readdirSync(folder).sort().join('\0'))}`;
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
