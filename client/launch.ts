// How a command is started and listened to. The ordinary way is here; tracing (client/trace.ts) is another.
//
// The command reads nothing from the terminal: what a person typed is no declared input. A signal that reaches Assay is
// handed on to the whole process group, and Assay waits for the command to end.
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { AssayError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import type { StreamName } from './log.ts';

export interface Launch {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Hears what the command says. Returns when that has been passed on, so the command can't outrun its reader. */
  hear(stream: StreamName, bytes: Buffer): void;
  /** Hears which process, with all that it starts, works on the outputs. */
  startedAs(pid: number): void;
}

export interface Ended {
  readonly exitCode: number;
  /** Set when a signal ended it; the exit code is then 128 and its number, as in a shell. */
  readonly signal?: NodeJS.Signals;
  /** Why what was heard is not all that was said, if it is not. */
  readonly logFault?: string;
}

export type Launcher<T extends Ended> = (launch: Launch) => Promise<T>;

export const launchDirectly: Launcher<Ended> = async (launch) => {
  const [file, ...args] = launch.argv;
  const { cwd, env } = launch;
  const child = spawn(file, args, {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  if (child.pid !== undefined) launch.startedAs(child.pid);
  const streams = [follow(child.stdout, 'stdout', launch), follow(child.stderr, 'stderr', launch)];
  const release = onSignal((signal) => signalGroup(child, signal));
  try {
    const end = await ended(child);
    const closed = await within(RUN.streamsCloseMs, Promise.all(streams));
    if (closed) return end;
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    return { ...end, logFault: 'the command left a process running that holds its output open' };
  } finally {
    release();
  }
};

/** The exit code that a shell would show for a process that a signal ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

function follow(source: Readable, stream: StreamName, { hear }: Launch): Promise<void> {
  return new Promise((resolve) => {
    source.on('data', (bytes: Buffer) => hear(stream, bytes));
    source.once('close', resolve);
  });
}

function ended(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new AssayError('ASSAY_COMMAND_NOT_FOUND', `it can not be started: ${cause.message}`, { cause }));
    });
    child.once('exit', (code, signal) => {
      resolve(signal ? { exitCode: exitCodeOf(signal), signal } : { exitCode: code ?? 1 });
    });
  });
}

function within(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), milliseconds);
    work.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

const HANDED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Calls `handle` for signals that would end Assay; the result undoes it. */
export function onSignal(handle: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of HANDED_ON) process.on(signal, handle);
  return () => {
    for (const signal of HANDED_ON) process.off(signal, handle);
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has just ended.
  }
}
