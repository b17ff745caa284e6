// Reassembles strace's output: joins split calls and assigns each call to its process. The lines of all tasks
// are interleaved, and a child's lines may come before its parent's clone returns. accesses.ts gets complete
// calls of known processes only.
import type { ExitStatus } from '../../../hermeticity/trace/access.ts';
import type { ReportBuilder } from '../../../hermeticity/trace/report-builder.ts';
import { StraceAccesses, type StraceProcess } from './accesses.ts';
import { type Call, numberOf, parseCall, parseLine, pathBehind, type StraceEvent } from './line.ts';
import type { BytePath } from './resolve-links.ts';

const NEW_PROCESS = new Set(['fork', 'vfork', 'clone', 'clone3']);

interface TimedEvent {
  readonly seconds: number;
  readonly event: StraceEvent;
}

export class StraceReassembler {
  readonly #builder: ReportBuilder<number>;
  readonly #accesses: StraceAccesses;
  readonly #startMs: number;
  readonly #cwd: BytePath;
  /** By task id; the threads of a process share one entry. */
  readonly #processes = new Map<number, StraceProcess>();
  readonly #halves = new Map<number, string>();
  readonly #unannounced = new Map<number, TimedEvent[]>();
  #command: number | undefined;
  #commandExit: ExitStatus | undefined;

  /** `startNs`: the birth time of a file created just before the command, by the file system's clock. */
  constructor(builder: ReportBuilder<number>, cwd: Buffer, startNs: bigint) {
    this.#builder = builder;
    this.#accesses = new StraceAccesses(builder, startNs);
    this.#cwd = cwd.toString('latin1');
    this.#startMs = Number(startNs / 1_000_000n);
  }

  /** The pids of all running processes. */
  get alive(): readonly number[] {
    return [...new Set([...this.#processes.values()].map((process) => process.pid))];
  }

  get commandIsAlive(): boolean {
    return this.#command === undefined || this.#processes.has(this.#command);
  }

  /** The command's exit status; undefined until strace reports it. */
  get commandExit(): ExitStatus | undefined {
    return this.#commandExit;
  }

  line(text: string): void {
    const line = parseLine(text);
    if (!line) {
      this.#builder.gap('strace wrote a line that Assay cannot parse');
      return;
    }
    if (this.#command === undefined) {
      this.#command = line.pid;
      this.#begin(line.pid, this.#cwd, undefined, 0);
    }
    this.#handle(line.pid, line);
  }

  /** Accepts children whose parent ended before its clone call returned. */
  adoptOrphans(): void {
    for (const [pid, happenings] of [...this.#unannounced]) {
      this.#begin(pid, this.#cwd, this.#command, this.#msOf(happenings[0]));
      this.#catchUp(pid);
    }
  }

  #begin(pid: number, cwd: BytePath, parent: number | undefined, atMs: number): void {
    this.#processes.set(pid, { pid, cwd });
    this.#builder.processStarted(pid, pid, parent, atMs);
  }

  #msOf(happening: TimedEvent | undefined): number {
    return Math.max(0, Math.round((happening?.seconds ?? 0) * 1000 - this.#startMs));
  }

  #handle(task: number, happening: TimedEvent): void {
    const process = this.#processes.get(task);
    if (!process) {
      const waiting = this.#unannounced.get(task) ?? [];
      this.#unannounced.set(task, [...waiting, happening]);
      return;
    }
    const { event } = happening;
    const atMs = this.#msOf(happening);
    switch (event.kind) {
      case 'call':
        this.#call(process, event.call, atMs);
        break;
      case 'unfinished':
        this.#halves.set(task, event.text);
        break;
      case 'resumed':
        this.#resumed(task, process, event.text, atMs);
        break;
      case 'superseded':
        this.#supersede(task, process, event.by);
        break;
      case 'gone':
        if (task === this.#command) this.#commandExit = event.exit;
        this.#processes.delete(task);
        this.#halves.delete(task);
        break;
      case 'signal':
        break;
    }
  }

  #resumed(task: number, process: StraceProcess, text: string, atMs: number): void {
    const call = parseCall((this.#halves.get(task) ?? '') + text);
    this.#halves.delete(task);
    if (call) this.#call(process, call, atMs);
  }

  /**
   * exec by another thread: that thread continues under the first thread's id. strace may never have reported
   * the clone that created it.
   */
  #supersede(first: number, process: StraceProcess, by: number): void {
    if (!this.#processes.has(by)) {
      this.#processes.set(by, process);
      this.#catchUp(by);
    }
    const half = this.#halves.get(by);
    if (half !== undefined) this.#halves.set(first, half);
    this.#halves.delete(by);
    this.#processes.delete(by);
  }

  #call(process: StraceProcess, call: Call, atMs: number): void {
    const cwd = pathBehind(call.arguments.find((argument) => argument.startsWith('AT_FDCWD<')));
    if (cwd) process.cwd = cwd.toString('latin1');
    if (NEW_PROCESS.has(call.name)) this.#newTask(process, call, atMs);
    else this.#accesses.take(process, call, atMs);
  }

  #newTask(parent: StraceProcess, call: Call, atMs: number): void {
    const task = numberOf(call.result);
    if (!(task > 0)) return;
    const flags = call.arguments.join(' ');
    if (/CLONE_NEWNS|CLONE_UNTRACED/.test(flags)) this.#accesses.viewChanged();
    if (/CLONE_THREAD/.test(flags)) this.#processes.set(task, parent);
    else this.#begin(task, parent.cwd, parent.pid, atMs);
    this.#catchUp(task);
  }

  /** Handles the events of a task from before its parent's clone returned. */
  #catchUp(task: number): void {
    const waiting = this.#unannounced.get(task) ?? [];
    this.#unannounced.delete(task);
    for (const happening of waiting) this.#handle(task, happening);
  }
}
