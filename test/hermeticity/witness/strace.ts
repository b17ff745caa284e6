// A tracer by strace: the witness that shares no code with the native tracer. Its lines are read after the fact, so
// it knows less about links, types and addresses.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { messageOf } from '../../../core/errors.ts';
import { HERMETICITY } from '../../../hermeticity/limits.ts';
import type { Access, TraceReport } from '../../../hermeticity/trace/access.ts';
import { forwardOutput, startFailure, waitForExit } from '../../../hermeticity/trace/child.ts';
import { exitStatusAfterTracer } from '../../../hermeticity/trace/exit-status.ts';
import { ReportBuilder } from '../../../hermeticity/trace/report-builder.ts';
import type { Availability, TracedCommand, Tracer } from '../../../hermeticity/trace/tracer.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { straceExpression } from './calls.ts';
import { StraceReassembler } from './reassemble.ts';

const POLL_MS = 50;
const READ_BYTES = 1 << 20;

export class StraceTracer implements Tracer {
  readonly name = 'strace';
  /** The version of this decoder. strace's own version does not change how Assay reads its lines. */
  readonly version = '1';
  #trial: Promise<Availability> | undefined;

  available(): Promise<Availability> {
    this.#trial ??= tryStrace();
    return this.#trial;
  }

  async run(command: TracedCommand, onAccess?: (access: Access) => void): Promise<TraceReport> {
    requireCommand(command);
    const folder = temporaryFolder('strace');
    try {
      return await this.#trace(command, join(folder, 'lines'), onAccess);
    } finally {
      removeTemporaryFolder(folder);
    }
  }

  async #trace(
    command: TracedCommand,
    file: string,
    onAccess: ((access: Access) => void) | undefined,
  ): Promise<TraceReport> {
    closeSync(openSync(file, 'w'));
    const builder = new ReportBuilder<number>(onAccess);
    const cwd = realpathSync(command.cwd, 'buffer');
    const { birthtimeNs } = statSync(file, { bigint: true });
    const interpreter = new StraceReassembler(builder, cwd, birthtimeNs);
    const reader = new LineReader(file, (line) => interpreter.line(line));
    const child = startStrace(command, file);
    if (child.pid !== undefined) command.startedAs?.(child.pid);
    forwardOutput(child, command.output);
    const overseer = new Supervisor(interpreter, builder, command);
    const timer = setInterval(() => {
      reader.readOn();
      overseer.check();
    }, POLL_MS);
    try {
      const exit = await waitForExit(child, this.name);
      reader.readOn();
      interpreter.adoptOrphans();
      if (interpreter.alive.length > 0) builder.gap('strace ended before the command did');
      return builder.finish(this, interpreter.commandExit ?? exitStatusAfterTracer(exit));
    } finally {
      clearInterval(timer);
      reader.close();
    }
  }
}

/** Kills processes that outlive the command, or all of them on abort. */
class Supervisor {
  readonly #interpreter: StraceReassembler;
  readonly #builder: ReportBuilder<number>;
  readonly #lingerMs: number;
  readonly #signal: AbortSignal | undefined;
  #commandEndedAt: number | undefined;

  constructor(interpreter: StraceReassembler, builder: ReportBuilder<number>, command: TracedCommand) {
    this.#interpreter = interpreter;
    this.#builder = builder;
    this.#lingerMs = command.lingerMs ?? HERMETICITY.lingerMs;
    this.#signal = command.signal;
  }

  check(): void {
    if (this.#signal?.aborted) {
      this.#builder.gap('the trace was stopped');
      this.#endAll();
      return;
    }
    if (this.#interpreter.commandIsAlive) return;
    this.#commandEndedAt ??= Date.now();
    if (Date.now() - this.#commandEndedAt < this.#lingerMs) return;
    for (const pid of this.#endAll()) this.#builder.survivor(pid);
  }

  #endAll(): readonly number[] {
    this.#interpreter.adoptOrphans();
    const { alive } = this.#interpreter;
    for (const pid of alive) endProcess(pid);
    return alive;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

function startStrace(command: TracedCommand, file: string): ChildProcess {
  const flags = ['-f', '--seccomp-bpf', '-ttt', '-xx', '-y', '-s', String(HERMETICITY.maxPathBytes)];
  const filters = ['-e', straceExpression(), '-e', 'quiet=attach,personality,path-resolution'];
  const denied = ['-e', 'inject=io_uring_setup:error=ENOSYS'];
  const output = command.output === 'inherit' ? 'inherit' : 'pipe';
  return spawn('strace', [...flags, ...filters, ...denied, '-o', file, '--', ...command.argv], {
    cwd: command.cwd,
    env: { ...command.env },
    stdio: ['ignore', output, output],
  });
}

/** Reads a growing file line by line. */
class LineReader {
  readonly #file: number;
  readonly #onLine: (line: string) => void;
  readonly #buffer = Buffer.alloc(READ_BYTES);
  readonly #decoder = new StringDecoder('latin1');
  #rest = '';

  constructor(path: string, onLine: (line: string) => void) {
    this.#file = openSync(path, 'r');
    this.#onLine = onLine;
  }

  readOn(): void {
    for (;;) {
      const length = readSync(this.#file, this.#buffer, 0, READ_BYTES, null);
      if (length === 0) return;
      const lines = (this.#rest + this.#decoder.write(this.#buffer.subarray(0, length))).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#onLine(line);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** strace's message about a missing command looks like the command's own output, so check first. */
function requireCommand(command: TracedCommand): void {
  const [name] = command.argv;
  const folders = name.includes('/') ? [''] : (command.env.PATH ?? '/usr/bin:/bin').split(':');
  const candidates = folders.map((folder) => resolve(command.cwd, folder, name));
  if (candidates.some(isExecutable)) return;
  throw startFailure(name, constants.errno.ENOENT);
}

function isExecutable(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && (status.mode & 0o111) !== 0;
}

async function tryStrace(): Promise<Availability> {
  try {
    await promisify(execFile)('strace', ['-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', '/bin/true'], {
      timeout: HERMETICITY.trialMs,
    });
    return { available: true };
  } catch (error) {
    return { available: false, reason: messageOf(error) };
  }
}
