// A clock that nobody can set, and that all processes of a machine read alike: the time since it was started. It says
// nothing across a restart of the machine, hence the name that goes with it: two readings compare only under one name.
import { readFileSync, readlinkSync } from 'node:fs';

export interface Clock {
  /** Of the time that this clock counts: one run of one machine. */
  readonly name: string;
  /** In milliseconds; never goes back. */
  now(): number;
}

/** Not process.hrtime: under Bun it counts from the start of the process. */
export function uptimeClock(): Clock {
  const since = Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) * 1000 - performance.now();
  return { name: nameOfThisRun(), now: () => since + performance.now() };
}

/** A container may have a time of its own, and then its own name for it. */
function nameOfThisRun(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return `${boot} ${timeNamespace()}`;
}

function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return 'without namespaces';
  }
}
