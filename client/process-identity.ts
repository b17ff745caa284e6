// A process, told apart from a later one that got the same number: by its number and the time it was started.
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot, as the kernel has it. */
  readonly started: string;
}

export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const started = fields[STARTED_FIELD];
    return started === undefined || state === 'Z' ? undefined : { pid, started };
  } catch {
    return undefined;
  }
}

/** The 22nd field of the file, the 20th after the name, the 19th after the state. */
const STARTED_FIELD = 18;

export function isRunning(process: ProcessIdentity): boolean {
  return identify(process.pid)?.started === process.started;
}
