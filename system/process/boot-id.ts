// The kernel's name for the time since the last boot. No other boot, and no other machine, has the same.
import { readFileSync } from 'node:fs';

/** Empty without /proc. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
