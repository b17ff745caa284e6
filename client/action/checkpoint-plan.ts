// A step's checkpoint settings: the folders with its progress, the interval, and how many to keep.
import type { RelPath } from '../../core/path.ts';

export interface CheckpointPlan {
  readonly folders: readonly RelPath[];
  readonly everyMs: number;
  readonly keep: number;
}

export const CHECKPOINT_DEFAULTS = { everyMs: 10 * 60_000, keep: 2 } as const;
