// How a command is started and listened to. The ordinary way is here; tracing (client/trace/trace.ts) is another.
//
// The command reads nothing from the terminal: what a person typed is no declared input. A signal that reaches Assay is
// handed on to the whole process group, and Assay waits for the command to end.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { AssayError } from '../../core/errors.ts';
import { exitCodeOfSignal, exitStatusAfterTracer } from '../../hermeticity/system/exit-status.ts';
import type { ExitStatus, SignalName } from '../../hermeticity/trace/access.ts';
import {
  readWaitStatus,
  STATUS_DESCRIPTOR,
  type WaitStrategy,
  waitStrategies,
} from '../../hermeticity/trace/wait-status.ts';
import { RUN } from '../limits.ts';
import type { StreamName } from '../run/log.ts';

export interface Launch {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Hears what the command says. Returns when that has been passed on, so the command can't outrun its reader. */
  onOutput(stream: StreamName, bytes: Buffer): void;
  /** Hears which process, with all that it starts, works on the outputs. */
  onStarted(pid: number): void;
  /** Ends it, as SIGTERM does. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandEnd {
  readonly exitCode: number;
  /** Set when a signal ended it; the exit code is then 128 and its number, as in a shell. */
  readonly signal?: SignalName;
  /** Why the exit code may not be the command's, if so. */
  readonly statusFault?: string;
  /** Why what was heard is not all that was said, if it is not. */
  readonly logFault?: string;
}

export type Launcher<T extends CommandEnd> = (launch: Launch) => Promise<T>;

/** The command runs as it is. Who waits for it is somebody who knows how it ended (waitingFor). */
export const launchDirectly: Launcher<CommandEnd> = async (launch) => {
  let refusal = '';
  for (const way of waitStrategies()) {
    const end = await launchBy(way, launch);
    if (typeof end !== 'string') return end;
    refusal = end;
  }
  throw new AssayError('ASSAY_COMMAND_NOT_FOUND', `it can not be started: ${refusal}`);
};

/** A text: why the program that waits could not be started. */
async function launchBy(way: WaitStrategy, launch: Launch): Promise<CommandEnd | string> {
  const [file, ...args] = way.wrap(launch.argv);
  const { cwd, env } = launch;
  const child = spawn(file, args, {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe', way.reportsStatus ? 'pipe' : 'ignore'],
    detached: true,
  });
  if (child.pid === undefined) return notStarted(child);
  launch.onStarted(child.pid);
  const streams = [follow(child.stdout, 'stdout', launch), follow(child.stderr, 'stderr', launch)];
  const status = way.reportsStatus ? readWaitStatus(child.stdio[STATUS_DESCRIPTOR]) : undefined;
  const release = onStop(launch.signal, (signal) => signalGroup(child, signal));
  try {
    const waiter = await ended(child);
    const end = status ? endOf((await status) ?? exitStatusAfterTracer(waiter)) : endFromWaiter(waiter, way);
    const closed = await within(RUN.streamsCloseMs, Promise.all(streams));
    if (closed) return end;
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    return { ...end, logFault: 'the command left a process running that holds its output open' };
  } finally {
    release();
  }
}

export function endOf(exit: ExitStatus): CommandEnd {
  return 'signal' in exit
    ? { exitCode: exitCodeOfSignal(exit.signal), signal: exit.signal }
    : { exitCode: exit.code };
}

function endFromWaiter(exit: ExitStatus, { isExitCodeReliable: isSure }: WaitStrategy): CommandEnd {
  const end = endOf(exit);
  if (isSure || end.exitCode !== 0) return end;
  return {
    ...end,
    statusFault: 'nothing here can tell whether a signal ended it (assay-trace is not installed)',
  };
}

function follow(source: Readable | null, stream: StreamName, { onOutput }: Launch): Promise<void> {
  return new Promise((resolve) => {
    source?.on('data', (bytes: Buffer) => onOutput(stream, bytes));
    source?.once('close', resolve);
  });
}

function notStarted(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.once('error', ({ message }) => resolve(message)));
}

function ended(child: ChildProcess): Promise<ExitStatus> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? { signal } : { code: code ?? 1 }));
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

/** The same, and for one who asks from within. */
export function onStop(asked: AbortSignal | undefined, handle: (signal: NodeJS.Signals) => void): () => void {
  const release = onSignal(handle);
  const stop = () => handle('SIGTERM');
  if (asked?.aborted) stop();
  asked?.addEventListener('abort', stop, { once: true });
  return () => {
    asked?.removeEventListener('abort', stop);
    release();
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
