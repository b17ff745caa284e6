// What a step says about its checkpoints: the folders that hold its progress, how often they are sealed, how many are kept.
import type { RelPath } from '../../core/path.ts';
import type { InputPattern } from '../request.ts';

export interface CheckpointPlan {
  readonly folders: readonly RelPath[];
  readonly everyMs: number;
  readonly keep: number;
}

export const CHECKPOINT_DEFAULTS = { everyMs: 10 * 60_000, keep: 2 } as const;

/** A command's progress is none of its inputs, wherever it lies. */
export function notAmongInputs({ folders }: Pick<CheckpointPlan, 'folders'>): InputPattern[] {
  return folders.map((folder) => ({ pattern: `!${folder}`, optional: true }));
}
