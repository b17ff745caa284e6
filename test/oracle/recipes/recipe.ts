// A recipe: a small project, the command that builds it, and the names that could change what the command does.
// It guarantees that the command is deterministic: in two equal copies it makes equal outputs and prints an equal log.
import type { Random } from '../../rig/random.ts';

/** Two versions of one file. Edits switch between them, so the project stays valid. */
export type Versions = readonly [string, string];

export interface Recipe {
  readonly name: string;
  readonly files: Readonly<Record<string, Versions>>;
  readonly links?: Readonly<Record<string, string>>;
  /** Files that do not exist at first, whose appearance changes the result. `../` is above the workspace. */
  readonly tempting: Readonly<Record<string, string>>;
  /** Lines of a shell script. Gates come before, between and after them. */
  readonly parts: readonly string[];
  /** The same command without a shell, if it has one part. */
  readonly argv?: readonly string[];
  /** Patterns as people write them; an empty list declares nothing. */
  readonly inputs: readonly (readonly string[])[];
  readonly outputs: readonly string[];
  readonly tools?: readonly string[];
  /** What .gitignore hides. */
  readonly ignored?: string;
  /** Gates that the command has in its own code. */
  readonly ownGates?: number;
}

/** `isGated`: the command waits at gates, at which the oracle edits files. */
export type Cook = (random: Random, isGated: boolean) => Recipe;

/** Content of the same size that differs, so that only the content or the time tells them apart. */
export const versions = (text: (word: string) => string): Versions => [text('one'), text('two')];

/** Declares a gate in a shell script: it tells the process id, then waits for a signal. */
export const SHELL_GATE =
  'trap g=1 USR2; gate() { g=; echo "@gate $$"; while [ -z "$g" ]; do sleep 0.02; done; }';

/** The same in Python. */
export const PYTHON_GATE = [
  'import os, signal',
  'def gate():',
  '    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])',
  '    print("@gate", os.getpid(), flush=True)',
  '    signal.sigwait([signal.SIGUSR2])',
].join('\n');
