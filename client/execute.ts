// Runs a command in the strict environment, passes on what it says while it says it, and keeps the log.
//
// The command reads nothing from the terminal: what a person typed is no declared input. A signal that reaches Assay is
// handed on, and Assay waits for the command to end.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { RUN } from '../core/limits.ts';
import type { RunContext } from './context.ts';
import { actualEnvironment, BASE_PATH, type PrivateFolders } from './environment.ts';
import type { KeyedAction } from './key.ts';
import { type Log, LogRecorder, type StreamName } from './log.ts';
import { setOutputsAside } from './set-aside.ts';
import { locateOnPath, type Tool } from './tools.ts';

export interface Execution {
  readonly exitCode: number;
  /** Set when a signal ended it; the exit code is then 128 and its number, as in a shell. */
  readonly signal?: NodeJS.Signals;
  readonly startedAt: number;
  readonly commandMs: number;
  readonly log: Log;
  /** Why the log is not the whole log, if it is not. */
  readonly logFault?: string;
}

type Ears = Pick<RunContext, 'stdout' | 'stderr'>;

export async function execute(action: KeyedAction, context: RunContext): Promise<Execution> {
  const { workspace, outputs } = action.request;
  const aside = setOutputsAside(workspace, outputs);
  const folder = mkdtempSync(join(tmpdir(), 'assay-'));
  let succeeded = false;
  try {
    const startedAt = context.now();
    const child = start(action, privateFolders(folder, action.tools));
    if (child.pid !== undefined) aside.writtenBy(child.pid);
    const end = await listen(child, context);
    succeeded = end.exitCode === 0;
    return { ...end, startedAt, commandMs: context.now() - startedAt };
  } finally {
    aside.settle(succeeded);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a process group of its own, so that a signal reaches all of it. */
function start({ request, tools, environment }: KeyedAction, folders: PrivateFolders): ChildProcess {
  return spawn(tools[0].file, request.command.slice(1), {
    cwd: join(request.workspace, request.workingDirectory),
    env: actualEnvironment(environment, folders),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

function privateFolders(folder: string, tools: readonly Tool[]): PrivateFolders {
  const home = join(folder, 'home');
  const tmp = join(folder, 'tmp');
  for (const path of [home, tmp]) mkdirSync(path);
  const hidden = tools.flatMap((tool) => [tool, ...tool.interpreters]).filter(isBeyondBasePath);
  if (hidden.length === 0) return { home, tmp };
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const tool of hidden) writeShim(join(bin, basename(tool.name)), tool.file);
  return { home, tmp, bin };
}

/** True for a program that a name alone would not find, or would find another of, in the strict environment. */
function isBeyondBasePath({ name, file }: Tool): boolean {
  if (name.includes('/')) return false;
  const found = locateOnPath(name, BASE_PATH);
  return found === undefined || realpathSync(found) !== realpathSync(file);
}

/**
 * A script that becomes the tool, rather than a link to it: programs that look for their parts beside the name they were
 * started by (a Python venv, a shell script with `dirname $0`) then find them.
 */
function writeShim(at: string, file: string): void {
  writeFileSync(at, `#!/bin/sh\nexec '${file.replaceAll("'", `'\\''`)}' "$@"\n`);
  chmodSync(at, 0o755);
}

async function listen(child: ChildProcess, ears: Ears): Promise<Omit<Execution, 'startedAt' | 'commandMs'>> {
  const recorder = new LogRecorder();
  const streams = [
    follow(child.stdout, 'stdout', ears.stdout, recorder),
    follow(child.stderr, 'stderr', ears.stderr, recorder),
  ];
  const release = forwardSignals(child);
  try {
    const { code, signal } = await ended(child);
    const closed = await within(RUN.streamsCloseMs, Promise.all(streams));
    if (!closed) for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    return {
      exitCode: signal ? 128 + constants.signals[signal] : (code ?? 1),
      ...(signal && { signal }),
      log: recorder.finish(),
      ...logFault(closed, recorder),
    };
  } finally {
    release();
  }
}

function logFault(closed: boolean, recorder: LogRecorder): { logFault?: string } {
  if (!closed) return { logFault: 'the command left a process running that holds its output open' };
  return recorder.tooLong ? { logFault: `the command said more than ${RUN.maxLogBytes} bytes` } : {};
}

/** Passes a stream on as fast as the reader takes it. A reader that goes away does not stop the command. */
function follow(
  source: Readable | null,
  name: StreamName,
  to: Writable,
  recorder: LogRecorder,
): Promise<void> {
  return new Promise((resolve) => {
    if (!source) return resolve();
    const goOn = () => source.resume();
    source.on('data', (bytes: Buffer) => {
      recorder.add(name, bytes);
      if (to.writable && !to.write(bytes)) source.pause();
    });
    to.on('drain', goOn).on('close', goOn);
    source.once('close', () => {
      to.off('drain', goOn).off('close', goOn);
      resolve();
    });
  });
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
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

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function forwardSignals(child: ChildProcess): () => void {
  const forward = (signal: NodeJS.Signals) => signalGroup(child, signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  return () => {
    for (const signal of FORWARDED) process.off(signal, forward);
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
