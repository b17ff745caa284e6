// Processes under measurement: start, read /proc, stop.
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const START_MS = 20_000;

/** Resolves with the first match of `ready` in the process's standard output. */
export async function startAndWait(
  command: readonly string[],
  ready: RegExp,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ child: ChildProcess; match: string }> {
  const child = start(command, environment);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const match = ready.exec(line);
      if (match) return { child, match: match[1] ?? match[0] };
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`${command.join(' ')} ended, or said nothing for ${START_MS / 1000} s`);
}

/** `environment`: beside that of this process. */
export function start(
  [file = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcessByStdio<null, Readable, null> {
  return spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...environment } });
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/**
 * The CPU time of all threads of these processes since they started, without threads that have ended. From
 * schedstat, which counts nanoseconds; the hundredths of /proc/PID/stat are 3 % of a short measurement.
 */
export function cpuSecondsOf(pids: readonly number[]): number {
  return pids.flatMap(threadsOf).reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9;
}

/** proc(5): the first field of schedstat is the time on the CPU in nanoseconds. */
function threadsOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const [onCpu = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(onCpu);
  });
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

export function forgetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Peak resident memory since the start, or since the peak was reset. */
export function peakMemoryBytes(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** Resident memory without mapped files, which the kernel can take back at any time. */
export function ownMemoryBytes(pid: number): number {
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}
