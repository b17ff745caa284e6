// A RunRequest: one command with everything that it may read and everything that it makes.
import type { RelPath } from '../../core/path.ts';
import type { CheckpointPlan } from './checkpoint-plan.ts';
import { type ActionOptions, OPTION_DEFAULTS } from './fields.ts';
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

/** What a request that a program makes need not say. */
export const REQUEST_DEFAULTS = { ...OPTION_DEFAULTS, programFolders: [], state: [] } as const;

export interface RunRequest extends ActionOptions {
  /** The step's name in assay.json, if any. Not in the key. */
  readonly name?: string;
  /** Absolute, with no symbolic link in it. */
  readonly workspace: string;
  readonly workingDirectory: RelPath;
  readonly command: readonly [string, ...string[]];
  readonly inputs: readonly InputPattern[];
  readonly outputs: readonly RelPath[];
  readonly variables: readonly DeclaredVariable[];
  readonly tools: readonly string[];
  /** Folders of the workspace that come first on PATH (program-folders.ts). */
  readonly programFolders: readonly RelPath[];
  /**
   * For a step of a graph: outputs of steps that it does not depend on. A step sees the checkout and the
   * outputs of its dependencies, so these may appear beside it at any time. Reading one is a finding.
   */
  unordered?(): OutputsOfOthers;
  /** The workspace is Bazel's layout of the inputs, not a checkout. */
  readonly layout?: 'bazel';
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
