// The time in milliseconds in which this thread ran or waited for a CPU. That time is not the remote's fault.
// From the kernel's schedstat; always 0 where the kernel does not count it.
//
// The file is opened once: a hit at a remote asks a dozen times, and an open file answers with one system call.
import { openSync, readSync } from 'node:fs';

export type ThreadTime = () => number;

export function threadTimeMs(): number {
  try {
    file ??= openSync('/proc/thread-self/schedstat', 'r');
    const length = readSync(file, BYTES, 0, BYTES.length, 0);
    const [ran = '', waited = ''] = BYTES.toString('latin1', 0, length).split(' ');
    const nanoseconds = Number(ran) + Number(waited);
    return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : 0;
  } catch {
    return 0;
  }
}

/** Belongs to the thread that opened it. Each thread has its own copy of this module. */
let file: number | undefined;
/** Three numbers of at most 20 digits. */
const BYTES = Buffer.alloc(64);
