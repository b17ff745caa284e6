// Starts a command, passes on its output, forwards signals, and returns how it ended.
// A signal to Assay goes to the whole process group of the command, and Assay waits for the command to end.
//
// The command's standard input is empty: what a person types is not a declared input. This launcher does not
// trace; trace/trace.ts has the one that does.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { AssayError } from '../../core/errors.ts';
import type { ExitStatus, SignalName } from '../../hermeticity/trace/access.ts';
import { exitCodeOfSignal, exitStatusAfterTracer } from '../../hermeticity/trace/exit-status.ts';
import {
  readWaitStatus,
  STATUS_DESCRIPTOR,
  type WaitStrategy,
  waitStrategies,
} from '../../hermeticity/trace/wait-status.ts';
import { RUN } from '../limits.ts';
import type { StreamName } from './log.ts';

export interface Launch {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Gets each piece of output. It returns when the piece is written, so a slow reader slows the command down.
   */
  onOutput(stream: StreamName, bytes: Buffer): void;
  /** Gets the id of the process group that writes the outputs. */
  onStarted(pid: number): void;
  /** Ends the command as SIGTERM does. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandEnd {
  readonly exitCode: number;
  /** The signal that ended the command; the exit code is then 128 plus its number, as in a shell. */
  readonly signal?: SignalName;
  /** Why the exit code may not be the command's own. */
  readonly statusFault?: string;
  /** Why the log may be incomplete. */
  readonly logFault?: string;
}

export type Launcher<T extends CommandEnd> = (launch: Launch) => Promise<T>;

/** Runs the command untraced, below a helper that reports the exact wait status (docs/decisions/0240). */
export const launchDirectly: Launcher<CommandEnd> = async (launch) => {
  let refusal = '';
  for (const strategy of waitStrategies()) {
    const end = await launchBy(strategy, launch);
    if (typeof end !== 'string') return end;
    refusal = end;
  }
  throw new AssayError('ASSAY_COMMAND_NOT_FOUND', `it can not be started: ${refusal}`);
};

/** Returns a text if the helper could not be started: why. */
async function launchBy(strategy: WaitStrategy, launch: Launch): Promise<CommandEnd | string> {
  const [file, ...args] = strategy.wrap(launch.argv);
  const { cwd, env } = launch;
  const child = spawn(file, args, {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe', strategy.reportsStatus ? 'pipe' : 'ignore'],
    detached: true,
  });
  if (child.pid === undefined) return notStarted(child);
  launch.onStarted(child.pid);
  const streams = [follow(child.stdout, 'stdout', launch), follow(child.stderr, 'stderr', launch)];
  const status = strategy.reportsStatus ? readWaitStatus(child.stdio[STATUS_DESCRIPTOR]) : undefined;
  const release = onStop(launch.signal, (signal) => signalGroup(child, signal));
  try {
    const waiter = await ended(child);
    const end = status
      ? commandEndOf((await status) ?? exitStatusAfterTracer(waiter))
      : endFromWaiter(waiter, strategy);
    const closed = await within(RUN.streamsCloseMs, Promise.all(streams));
    if (closed) return end;
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    return { ...end, logFault: 'the command left a process running that holds its output open' };
  } finally {
    release();
  }
}

export function commandEndOf(exit: ExitStatus): CommandEnd {
  return 'signal' in exit
    ? { exitCode: exitCodeOfSignal(exit.signal), signal: exit.signal }
    : { exitCode: exit.code };
}

function endFromWaiter(exit: ExitStatus, { isExitCodeReliable }: WaitStrategy): CommandEnd {
  const end = commandEndOf(exit);
  if (isExitCodeReliable || end.exitCode !== 0) return end;
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

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Calls `handle` for each signal that would end Assay. Call the returned function to stop listening. */
export function onSignal(handle: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of FORWARDED) process.on(signal, handle);
  return () => {
    for (const signal of FORWARDED) process.off(signal, handle);
  };
}

/** Like onSignal; an abort of `abort` counts as SIGTERM. */
export function onStop(abort: AbortSignal | undefined, handle: (signal: NodeJS.Signals) => void): () => void {
  const release = onSignal(handle);
  const stop = () => handle('SIGTERM');
  if (abort?.aborted) stop();
  abort?.addEventListener('abort', stop, { once: true });
  return () => {
    abort?.removeEventListener('abort', stop);
    release();
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The command has just ended.
  }
}
