// The time in milliseconds in which this thread ran or waited for a CPU. That time is not the remote's fault.
// From the kernel's schedstat; always 0 where the kernel does not count it.
import { readFileSync } from 'node:fs';

export type ThreadTime = () => number;

export function threadTimeMs(): number {
  try {
    const [ran = '', waited = ''] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
    const nanoseconds = Number(ran) + Number(waited);
    return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : 0;
  } catch {
    return 0;
  }
}
