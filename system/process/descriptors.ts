// How many files this process may have open.
import { readFileSync } from 'node:fs';

/** The default of Linux. */
const USUAL = 1024;

export function descriptorLimit(): number {
  try {
    const [, soft = ''] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return Number(soft) || USUAL;
  } catch {
    return USUAL;
  }
}
