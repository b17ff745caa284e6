// What a person asked for: one command with all that it may see and all that it makes.
import type { RelPath } from '../../core/path.ts';
import type { CheckpointPlan } from './checkpoint-plan.ts';

export interface InputPattern {
  /** A path or a glob, relative to the workspace; "!" in front takes away what it matches. */
  readonly pattern: string;
  /** Matching nothing is fine. */
  readonly optional: boolean;
}

export interface DeclaredVariable {
  readonly name: string;
  /** Absent: the caller's value, whatever it is. */
  readonly value?: string;
}

/** What is done about what a command sees or does beyond its declaration: nothing, mark its result, refuse it. */
export const HERMETIC = ['off', 'warn', 'strict'] as const;
export type Hermetic = (typeof HERMETIC)[number];

/** How a run goes unless something else is asked for. */
export const REQUEST_DEFAULTS = {
  hermetic: 'warn',
  acceptMarked: false,
  observed: false,
  sandbox: false,
  state: [],
} as const;

export interface RunRequest {
  /** What people call it, if it has a name: a step of an assay.json. Not in the key. */
  readonly name?: string;
  /** Absolute, with no symbolic link in it. */
  readonly workspace: string;
  readonly workingDirectory: RelPath;
  readonly command: readonly [string, ...string[]];
  readonly inputs: readonly InputPattern[];
  /** Files that .gitignore hides count too. */
  readonly includeIgnored: boolean;
  readonly outputs: readonly RelPath[];
  readonly variables: readonly DeclaredVariable[];
  readonly tools: readonly string[];
  /** Keep a result whose command ended with a code other than 0. */
  readonly cacheFailures: boolean;
  readonly hermetic: Hermetic;
  /** Take a marked result from the remote. */
  readonly acceptMarked: boolean;
  /** What earlier runs were seen to read counts as declared. */
  readonly observed: boolean;
  /** Of a step whose inputs are observed: what other steps make that need not come first. Reading it is a finding. */
  readonly unordered?: readonly RelPath[];
  /** Run where nothing undeclared can be seen. */
  readonly sandbox: boolean;
  /** Folders that hold the command's progress, for a long one that may be killed. Not in the key. */
  readonly checkpoint?: CheckpointPlan;
  /** Files and folders that it uses to be faster the next time. Not in the key, no inputs, no outputs. */
  readonly state: readonly RelPath[];
}

/** What a command keeps for itself, beside its outputs. */
export function stateAndCheckpointPaths({
  checkpoint,
  state,
}: Pick<RunRequest, 'checkpoint' | 'state'>): RelPath[] {
  return [...(checkpoint?.folders ?? []), ...state];
}

/** It is none of its inputs, wherever it lies. */
export function exclusionPatterns(kept: readonly RelPath[]): InputPattern[] {
  return kept.map((path) => ({ pattern: `!${path}`, optional: true }));
}
