// A RunRequest: one command with everything that it may read and everything that it makes.
import type { RelPath } from '../../core/path.ts';
import type { CheckpointPlan } from './checkpoint-plan.ts';
import type { OutputsOfOthers } from './outputs-of-others.ts';

export interface InputPattern {
  /** A path or a glob relative to the workspace; a leading "!" excludes what it matches. */
  readonly pattern: string;
  /** The pattern may match nothing. */
  readonly optional: boolean;
}

export interface DeclaredVariable {
  readonly name: string;
  /** If absent, the caller's value. */
  readonly value?: string;
}

/** What to do about accesses beyond the declaration: not watch, report them, or refuse the result. */
export const HERMETIC = ['off', 'warn', 'strict'] as const;
export type Hermetic = (typeof HERMETIC)[number];

/** Whether to keep results that are unproven (core/evidence.ts): not at all, here, or at the remote too. */
export const KEEP_UNPROVEN = ['no', 'local', 'shared'] as const;
export type KeepUnproven = (typeof KEEP_UNPROVEN)[number];

/** The defaults of a run. */
export const REQUEST_DEFAULTS = {
  hermetic: 'warn',
  keepUnproven: 'no',
  observed: false,
  sandbox: false,
  programFolders: [],
  state: [],
} as const;

export interface RunRequest {
  /** The step's name in assay.json, if any. Not in the key. */
  readonly name?: string;
  /** Absolute, with no symbolic link in it. */
  readonly workspace: string;
  readonly workingDirectory: RelPath;
  readonly command: readonly [string, ...string[]];
  readonly inputs: readonly InputPattern[];
  /** Files that .gitignore hides are inputs, too. */
  readonly includeIgnored: boolean;
  readonly outputs: readonly RelPath[];
  readonly variables: readonly DeclaredVariable[];
  readonly tools: readonly string[];
  /** Folders of the workspace that come first on PATH (program-folders.ts). */
  readonly programFolders: readonly RelPath[];
  /** Publish a result with an exit code other than 0. */
  readonly cacheFailures: boolean;
  readonly hermetic: Hermetic;
  readonly keepUnproven: KeepUnproven;
  /** Reads observed in earlier runs count as declared. */
  readonly observed: boolean;
  /**
   * For a step of a graph: outputs of steps that it does not depend on. A step sees the checkout and the
   * outputs of its dependencies, so these may appear beside it at any time. Reading one is a finding.
   */
  unordered?(): OutputsOfOthers;
  /** The workspace is Bazel's layout of the inputs, not a checkout. */
  readonly layout?: 'bazel';
  /** Run in a sandbox that hides everything undeclared. */
  readonly sandbox: boolean;
  /** Folders with the progress of a long command that may be killed. Not in the key. */
  readonly checkpoint?: CheckpointPlan;
  /** Files and folders that make the next run faster. Not in the key; neither inputs nor outputs. */
  readonly state: readonly RelPath[];
}

/** The paths of a command's checkpoints and state. */
export function stateAndCheckpointPaths({
  checkpoint,
  state,
}: Pick<RunRequest, 'checkpoint' | 'state'>): RelPath[] {
  return [...(checkpoint?.folders ?? []), ...state];
}

/** Patterns that exclude these paths from the inputs. */
export function exclusionPatterns(kept: readonly RelPath[]): InputPattern[] {
  return kept.map((path) => ({ pattern: `!${path}`, optional: true }));
}
