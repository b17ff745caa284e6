// Every limit of `assay init`.
import { KIB, SECOND } from '../../core/units.ts';

export const INIT = {
  /** A command that prints nothing for this long may wait for changes, or serve. */
  quietMs: 20 * SECOND,
  /** The largest file that is searched for variables, for larger ones are data or generated; and how many are. */
  variablesBytes: 256 * KIB,
  variablesFiles: 500,
} as const;
