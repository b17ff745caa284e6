// The port for tracers: run a command and report its accesses. native.ts implements it, and so does the witness of
// the tests. test/hermeticity/trace/contract.ts holds both to the same behaviour.
import type { Access, TraceReport } from './access.ts';

export interface TracedCommand {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The command's whole environment; nothing is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Inherits our streams, or passes each chunk to this function. Standard input is empty. */
  readonly output: 'inherit' | ((stream: 'stdout' | 'stderr', chunk: Buffer) => void);
  /** Receives the pid of the process that is the root of the command's processes. */
  startedAs?(pid: number): void;
  /** How long a process may outlive the command; HERMETICITY.lingerMs by default. */
  readonly lingerMs?: number;
  /**
   * Kills the command and its processes. If the reason is a signal's name, forwards that signal if possible.
   */
  readonly signal?: AbortSignal;
}

export type Availability =
  | { readonly available: true }
  | { readonly available: false; readonly reason: string };

export interface Tracer {
  readonly name: string;
  readonly version: string;
  available(): Promise<Availability>;
  /**
   * Resolves when the command and all its processes have ended. Rejects with ASSAY_COMMAND_NOT_FOUND if the
   * command cannot be started, and with ASSAY_NO_TRACER if this machine does not allow tracing.
   */
  run(command: TracedCommand, onAccess?: (access: Access) => void): Promise<TraceReport>;
}
