// The port: something that runs a command and tells what it did. native.ts and strace.ts stand behind it, and
// test/hermeticity/trace/contract.ts holds both to the same behaviour.
import type { Access, TraceReport } from './access.ts';

export interface TracedCommand {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** Everything that the command gets; nothing is added. */
  readonly env: Readonly<Record<string, string>>;
  /** The command's output goes to ours, or to this function as it comes. It reads nothing from standard input. */
  readonly output: 'inherit' | ((stream: 'stdout' | 'stderr', chunk: Buffer) => void);
  /** Hears the number of the process that all of the command's come from. */
  startedAs?(pid: number): void;
  /** How long processes that outlive the command may go on; HERMETICITY.lingerMs if not given. */
  readonly lingerMs?: number;
  /** Ends the command and all that it started; or, where the reason is a signal's name, hands that on if it can. */
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
   * Resolves when the command and all that it started have ended. Rejects with ASSAY_COMMAND_NOT_FOUND if it can't be
   * started, and with ASSAY_NO_TRACER if this machine does not let it be traced.
   */
  run(command: TracedCommand, onAccess?: (access: Access) => void): Promise<TraceReport>;
}
