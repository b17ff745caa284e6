// What a step says about its checkpoints: the folders that hold its progress, how often they are sealed, how many are kept.
import type { RelPath } from '../../core/path.ts';

export interface CheckpointPlan {
  readonly folders: readonly RelPath[];
  readonly everyMs: number;
  readonly keep: number;
}

export const CHECKPOINT_DEFAULTS = { everyMs: 10 * 60_000, keep: 2 } as const;
