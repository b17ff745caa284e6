// How much memory and processor time a process has taken, as the kernel counts them.
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

/** Of all its threads, and of the kernel for it, in steps of 10 ms. */
export function processorMs(pid: number): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/\(.*\)/, '')
    .split(/ +/);
  const ticks = Number(fields[10]) + Number(fields[11]);
  return ticks * 10;
}

function field(pid: number, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1]) * 1024;
}
