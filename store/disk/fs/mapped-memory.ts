// How much of what is mapped into this process lies in memory. LMDB maps its whole file, and whatever was looked at once
// stays mapped: the kernel can take it back, but until then it counts as this process's memory.
import { readFileSync } from 'node:fs';

/** 0 where the system does not tell. */
export function mappedBytes(): number {
  try {
    const [, kib = '0'] = /^RssFile:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}
