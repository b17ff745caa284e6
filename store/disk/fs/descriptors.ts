// How many files this process may have open.
import { readFileSync } from 'node:fs';

/** What Linux allows a process that nobody has given more. */
const USUAL = 1024;

export function descriptorLimit(): number {
  try {
    const [, soft = ''] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return Number(soft) || USUAL;
  } catch {
    return USUAL;
  }
}
