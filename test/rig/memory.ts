// How much memory a process has, as the kernel counts it.
import { readFileSync, writeFileSync } from 'node:fs';

export function residentBytes(pid: number): number {
  return field(pid, 'VmRSS');
}

/** From now on peakBytes tells the most since now. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export function peakBytes(pid: number): number {
  return field(pid, 'VmHWM');
}

function field(pid: number, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1]) * 1024;
}
