// A monotonic clock that all processes of a machine share: the time since boot. Nobody can set it.
// It starts again at each boot. So each clock has a name, and two readings compare only under the same name.
import { readFileSync, readlinkSync } from 'node:fs';

export interface BootClock {
  /** The boot and the time namespace. */
  readonly name: string;
  /** Milliseconds; never decreases. */
  now(): number;
}

/** Not process.hrtime: under Bun it counts from the start of the process. */
export function uptimeClock(): BootClock {
  const since = Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) * 1000 - performance.now();
  return { name: nameOfThisRun(), now: () => since + performance.now() };
}

/** A container may have its own time namespace, and then another name. */
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
