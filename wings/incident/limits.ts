// Every limit of `assay forget`.
import { SECOND } from '../../core/units.ts';

export const FORGET = {
  /** Keys that --verbose lists. */
  listed: 1000,
  /** Namespaces, writers and protocols that are printed of each; --json has more. */
  groups: 20,
  /** How often the progress is printed. */
  progressMs: 2 * SECOND,
} as const;
