// How long this thread has been busy or has waited for a processor, in milliseconds since some moment. What it spends so
// is not the remote's doing. The kernel counts it (docs: sched-stats); where it does not, the answer is always 0.
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
