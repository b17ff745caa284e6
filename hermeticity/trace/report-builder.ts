// Gathers what a tracer tells, in the order in which it is told, into a TraceReport.
import { HERMETICITY } from '../limits.ts';
import type { Access, ExitStatus, TracedProcess, TraceReport, Without } from './access.ts';

export type AccessDetails = Without<Access, 'process' | 'atMs'>;

interface OpenProcess extends TracedProcess {
  argv: readonly string[];
  survived: boolean;
  /** Its argv is still that of the program that forked it. */
  inherited: boolean;
}

/** `Key` is what a tracer names a process by: a serial number, a pid. */
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
    const argv = parentIndex === undefined ? [] : (this.#processes[parentIndex]?.argv ?? []);
    this.#open(key, { pid, parent: parentIndex, argv, atMs, survived: false, inherited: true });
  }

  /**
   * What a shell does between fork and exec (redirections) belongs to the program that comes after, so the first exec
   * gives the process its name; a later one is a program of its own.
   */
  programStarted(key: Key, argv: readonly string[], atMs: number): void {
    const index = this.#current.get(key);
    const process = index === undefined ? undefined : this.#processes[index];
    if (!process) return;
    if (process.inherited) {
      process.argv = argv;
      process.inherited = false;
      return;
    }
    this.#open(key, { pid: process.pid, parent: index, argv, atMs, survived: false, inherited: false });
  }

  access(key: Key, told: AccessDetails, atMs: number): void {
    if (this.#accesses.length >= HERMETICITY.maxAccesses) {
      this.gap(`more than ${HERMETICITY.maxAccesses} different accesses`);
      return;
    }
    const access: Access = { ...told, process: this.#current.get(key) ?? 0, atMs };
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
