// The memory of this process, as the kernel reports it: its address space and its mapped file pages.
import { readFileSync } from 'node:fs';

const LIMIT = /^Max address space +(\d+)/m;
const IN_USE = /^VmSize:\s*(\d+) kB/m;
const MAPPED = /^RssFile:\s+(\d+) kB/m;

/** The limit is infinite if there is none, or the kernel does not say. */
export function addressSpace(): { readonly usedBytes: number; readonly limitBytes: number } {
  const limit = LIMIT.exec(textOf('/proc/self/limits'))?.[1];
  if (limit === undefined) return { usedBytes: 0, limitBytes: Number.POSITIVE_INFINITY };
  return { usedBytes: bytesIn(IN_USE), limitBytes: Number(limit) };
}

/**
 * How much mapped file content is resident in this process; 0 if the kernel does not say. LMDB maps its whole
 * file. Each page that was read stays mapped, and counts as memory of the process, until the kernel takes it
 * back.
 */
export function mappedBytes(): number {
  return bytesIn(MAPPED);
}

function bytesIn(pattern: RegExp): number {
  return 1024 * Number(pattern.exec(textOf('/proc/self/status'))?.[1] ?? 0);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
