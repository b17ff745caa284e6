// Collects the events of a tracer, in order, into a TraceReport.
import { HERMETICITY } from '../limits.ts';
import type { Access, ExitStatus, TracedProcess, TraceReport, Without } from './access.ts';

export type AccessDetails = Without<Access, 'process' | 'atMs'>;

/** What a tracer tells of a program when it starts. */
export type StartedProgram = Pick<TracedProcess, 'argv' | 'argvIsCut' | 'file' | 'hooked'>;

interface OpenProcess extends TracedProcess {
  argv: readonly string[];
  survived: boolean;
  /** The argv is still that of the program that forked this process. */
  inherited: boolean;
}

/** `Key` identifies a process for the tracer: a serial number or a pid. */
export class ReportBuilder<Key> {
  readonly #processes: OpenProcess[] = [];
  readonly #current = new Map<Key, number>();
  readonly #accesses: Access[] = [];
  readonly #gaps = new Set<string>();
  readonly #onAccess: ((access: Access) => void) | undefined;

  constructor(onAccess?: (access: Access) => void) {
    this.#onAccess = onAccess;
  }

  processStarted(key: Key, pid: number, parent: Key | undefined, atMs: number): void {
    const parentIndex = parent === undefined ? undefined : this.#current.get(parent);
    const parentProgram = parentIndex === undefined ? undefined : this.#processes[parentIndex];
    const program = programOf(parentProgram ?? { argv: [] });
    this.#open(key, { ...program, pid, parent: parentIndex, atMs, survived: false, inherited: true });
  }

  /**
   * Work between fork and exec (a shell's redirections) belongs to the program that follows. So the first
   * exec names the process, and a later exec is a new program.
   */
  programStarted(key: Key, program: StartedProgram, atMs: number): void {
    const index = this.#current.get(key);
    const process = index === undefined ? undefined : this.#processes[index];
    if (!process) return;
    const { pid, survived } = process;
    if (process.inherited && index !== undefined) {
      const { parent, atMs: startedAt } = process;
      this.#processes[index] = { ...program, pid, parent, atMs: startedAt, survived, inherited: false };
      return;
    }
    this.#open(key, { ...program, pid, parent: index, atMs, survived: false, inherited: false });
  }

  access(key: Key, details: AccessDetails, atMs: number): void {
    if (this.#accesses.length >= HERMETICITY.maxAccesses) {
      this.gap(`more than ${HERMETICITY.maxAccesses} different accesses`);
      return;
    }
    const access: Access = { ...details, process: this.#current.get(key) ?? 0, atMs };
    this.#accesses.push(access);
    this.#onAccess?.(access);
  }

  gap(reason: string): void {
    this.#gaps.add(reason);
  }

  survivor(key: Key): void {
    const process = this.#processes[this.#current.get(key) ?? -1];
    if (process) process.survived = true;
  }

  finish(tracer: { name: string; version: string }, exit: ExitStatus): TraceReport {
    return {
      tracer: { name: tracer.name, version: tracer.version },
      exit,
      processes: this.#processes.map(({ inherited: _, ...process }) => process),
      accesses: this.#accesses,
      complete: this.#gaps.size === 0,
      gaps: [...this.#gaps],
    };
  }

  #open(key: Key, process: OpenProcess): void {
    this.#current.set(key, this.#processes.length);
    this.#processes.push(process);
  }
}

function programOf({ argv, argvIsCut, file, hooked }: StartedProgram): StartedProgram {
  return { argv, ...(argvIsCut && { argvIsCut }), ...(file && { file }), ...(hooked && { hooked }) };
}
